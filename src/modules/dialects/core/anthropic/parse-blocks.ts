import { invalidField, untranslatable } from '../body-problems.js';
import type { JsonObject } from '../json-value.js';
import { booleanAt, listAt, nameAt, objectAt, optional, textAt } from '../fields.js';
import type { Part, ToolResult } from '../answer-request.js';

/** A text, or blocks that are read one by one; `path` is that of the content. */
export function eachBlock(
  content: unknown,
  path: string,
  visit: (block: JsonObject, type: string, path: string, position: number) => void,
): void {
  if (typeof content === 'string') {
    if (content !== '') visit({ type: 'text', text: content }, 'text', path, 0);
    return;
  }
  if (!Array.isArray(content)) throw invalidField(path, 'has to be a string or a list of blocks');
  content.forEach((value: unknown, position) => {
    const at = `${path}[${position}]`;
    const block = objectAt(value, at);
    visit(block, nameAt(block['type'], `${at}.type`), at, position);
  });
}

/** What a user or a tool shows the model. Throws `invalid-request` for what no engine could be shown. */
export function partsOf(block: JsonObject, type: string, path: string): readonly Part[] {
  switch (type) {
    case 'text':
      return [text(textAt(block['text'], `${path}.text`))];
    case 'image':
      return [imageOf(block['source'], `${path}.source`)];
    case 'document':
      return documentParts(block, path);
    case 'search_result':
      return [text(searchResultText(block, path))];
    case 'tool_reference':
      return [text(nameAt(block['tool_name'], `${path}.tool_name`))];
    default:
      throw untranslatable(`${path}.type`, type);
  }
}

export function toolResultOf(block: JsonObject, path: string): ToolResult {
  const parts: Part[] = [];
  const { content } = block;
  if (content !== undefined && content !== null) {
    eachBlock(content, `${path}.content`, (inner, type, at) => parts.push(...partsOf(inner, type, at)));
  }
  return {
    callId: nameAt(block['tool_use_id'], `${path}.tool_use_id`),
    parts,
    isError: optional(block['is_error'], `${path}.is_error`, booleanAt) ?? false,
  };
}

/** The texts of a content that may hold nothing else. */
export function textsOf(content: unknown, path: string): string[] {
  const texts: string[] = [];
  eachBlock(content, path, (block, type, at) => {
    if (type !== 'text') throw untranslatable(`${at}.type`, type);
    texts.push(textAt(block['text'], `${at}.text`));
  });
  return texts;
}

const text = (value: string): Part => ({ type: 'text', text: value });

function imageOf(value: unknown, path: string): Part {
  const source = objectAt(value, path);
  const type = nameAt(source['type'], `${path}.type`);
  if (type === 'url') return { type: 'image', url: nameAt(source['url'], `${path}.url`) };
  if (type !== 'base64') throw untranslatable(`${path}.type`, type);
  const mediaType = nameAt(source['media_type'], `${path}.media_type`);
  return { type: 'image', url: `data:${mediaType};base64,${nameAt(source['data'], `${path}.data`)}` };
}

/** A document that is text already goes into the prompt, under its title. */
function documentParts(block: JsonObject, path: string): readonly Part[] {
  const source = objectAt(block['source'], `${path}.source`);
  const type = nameAt(source['type'], `${path}.source.type`);
  const head = [
    ...headLine('Document', block['title'], `${path}.title`),
    ...headLine('Context', block['context'], `${path}.context`),
  ];
  if (type === 'text') return [text([...head, textAt(source['data'], `${path}.source.data`)].join('\n'))];
  if (type !== 'content') throw untranslatable(`${path}.source.type`, type);
  const parts: Part[] = head.length === 0 ? [] : [text(head.join('\n'))];
  eachBlock(source['content'], `${path}.source.content`, (inner, kind, at) => {
    if (kind !== 'text' && kind !== 'image') throw untranslatable(`${at}.type`, kind);
    parts.push(...partsOf(inner, kind, at));
  });
  return parts;
}

function searchResultText(block: JsonObject, path: string): string {
  const found = listAt(block['content'], `${path}.content`);
  return [
    ...headLine('Search result', block['title'], `${path}.title`),
    ...headLine('Source', block['source'], `${path}.source`),
    ...textsOf(found, `${path}.content`),
  ].join('\n');
}

function headLine(label: string, value: unknown, path: string): string[] {
  const found = optional(value, path, textAt);
  return found === undefined || found === '' ? [] : [`${label}: ${found}`];
}
