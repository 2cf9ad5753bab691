import type { WholeResponse } from '../../../common/rendering.js';

/** An answer that many get, each with the id of its own request in it. */
export class KeptAnswer {
  readonly #between: readonly string[];

  /** `id`: what stands in the body in place of each request's id, and nowhere else. */
  constructor(
    private readonly answer: WholeResponse,
    id: string,
  ) {
    const { buffer, byteOffset, byteLength } = answer.body;
    this.#between = Buffer.from(buffer, byteOffset, byteLength).toString().split(id);
  }

  /** `requestId`: of characters that JSON leaves as they are. */
  for(requestId: string): WholeResponse {
    const { status, headers } = this.answer;
    return { status, headers, body: Buffer.from(this.#between.join(requestId)) };
  }
}
