import OpenAI from 'openai';

/** What the official client makes of a chat stream. */
export interface OfficialVerdict {
  readonly verdict: 'accepted' | 'thrown';
  /** The message of each choice, as its accumulator put it together. */
  readonly messages: readonly { readonly content: string | null; readonly toolArguments: readonly string[] }[];
  /** What it threw. */
  readonly error?: unknown;
}

/** Feeds the bytes of a response to the official client's stream helper, as if they came from a server. */
export async function readByOfficialClient(body: Uint8Array): Promise<OfficialVerdict> {
  const client = new OpenAI({
    apiKey: 'none',
    maxRetries: 0,
    fetch: () => Promise.resolve(new Response(Buffer.from(body), { headers: { 'content-type': 'text/event-stream' } })),
  });
  try {
    const stream = client.chat.completions.stream({ model: 'any', messages: [{ role: 'user', content: 'any' }] });
    const { choices } = await stream.finalChatCompletion();
    const messages = choices.map(({ message }) => ({
      content: message.content,
      toolArguments: (message.tool_calls ?? []).flatMap((call) =>
        'function' in call ? [call.function.arguments] : [],
      ),
    }));
    return { verdict: 'accepted', messages };
  } catch (error) {
    return { verdict: 'thrown', messages: [], error };
  }
}
