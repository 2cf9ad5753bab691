import { chatRequest, chunk, deltaEvent, jsonAnswer, STREAM_HEAD, streamRequest } from './chat-wire.js';
import type { EngineWorld } from './engine-world.js';
import type { RawConnection } from './raw-client.js';
import { eventually } from './socket-world.js';
import type { TcpAnswer } from './tcp-engine.js';

/** The ways in which a client can go. */
export const LEAVING = {
  FIN: (client: RawConnection) => client.destroy(),
  RST: (client: RawConnection) => client.socket.resetAndDestroy(),
};

interface Phase {
  readonly request: typeof streamRequest;
  /** Something of the answer reaches the client before it leaves. */
  readonly isHeard: boolean;
  readonly answer: TcpAnswer;
}

/** Where an exchange can be at the engine when its client leaves. */
const PHASES: Readonly<Record<string, Phase>> = {
  'a stream without a head': { request: streamRequest, isHeard: false, answer: () => undefined },
  'a call without a head': { request: chatRequest, isHeard: false, answer: () => undefined },
  'a stream that is silent': {
    request: streamRequest,
    isHeard: true,
    answer: ({ socket }) => socket.write(STREAM_HEAD),
  },
  'a stream between two events': {
    request: streamRequest,
    isHeard: true,
    answer: ({ socket }) => socket.write(STREAM_HEAD + chunk(deltaEvent('one'))),
  },
  'a call in its body': {
    request: chatRequest,
    isHeard: false,
    answer: ({ socket }) => socket.write(jsonAnswer().slice(0, -10)),
  },
};

export const PHASE_NAMES = Object.keys(PHASES);

/** A client whose exchange is in that phase. */
export async function clientIn(phase: string, world: EngineWorld): Promise<RawConnection> {
  const found = PHASES[phase];
  if (found === undefined) throw new Error(`no such phase: ${phase}`);
  world.engine.play(found.answer);
  const client = await world.ask(found.request());
  await world.engine.request(0);
  if (found.isHeard) await eventually(() => client.socket.bytesRead > 0);
  return client;
}
