import type { Part } from '../answer-request.js';
import { invalidField, untranslatable } from '../body-problems.js';
import { nameAt, objectAt, textAt } from '../fields.js';
import type { JsonObject } from '../json-value.js';

/** What a user or a tool shows the model: a text, or parts. Throws `invalid-request` for what no engine could be shown. */
export function partsOf(content: unknown, path: string): Part[] {
  const parts: Part[] = [];
  eachPart(content, path, (part, type, at) => {
    if (type === 'input_image') parts.push(imageOf(part, at));
    else parts.push({ type: 'text', text: textIn(part, type, at) });
  });
  return parts;
}

/** The texts of a content that may hold nothing else. */
export function textsOf(content: unknown, path: string): string[] {
  const texts: string[] = [];
  eachPart(content, path, (part, type, at) => texts.push(textIn(part, type, at)));
  return texts;
}

function eachPart(content: unknown, path: string, visit: (part: JsonObject, type: string, path: string) => void): void {
  if (typeof content === 'string') return visit({ text: content }, 'input_text', path);
  if (!Array.isArray(content)) throw invalidField(path, 'has to be a string or a list of parts');
  content.forEach((value: unknown, position) => {
    const at = `${path}[${position}]`;
    const part = objectAt(value, at);
    visit(part, nameAt(part['type'], `${at}.type`), at);
  });
}

function textIn(part: JsonObject, type: string, path: string): string {
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'reasoning_text':
    case 'text':
      return textAt(part['text'], `${path}.text`);
    case 'refusal':
      return textAt(part['refusal'], `${path}.refusal`);
    default:
      throw untranslatable(`${path}.type`, type);
  }
}

/** An image by its address, which may hold it; files are kept by services, not here. */
function imageOf(part: JsonObject, path: string): Part {
  const url: unknown = part['image_url'] ?? undefined;
  if (url === undefined && (part['file_id'] ?? undefined) !== undefined)
    throw invalidField(`${path}.file_id`, 'names a file, and this gateway keeps none: send the image as image_url');
  return { type: 'image', url: nameAt(url, `${path}.image_url`) };
}
