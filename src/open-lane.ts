import { OPERATION_PATHS } from './front-door.js';
import type { Operation } from './common/canonical/canonical-request.js';
import { ScopeGuard } from './modules/auth/scope.guard.js';
import { AnthropicController } from './modules/dialects/anthropic.controller.js';
import { HotLane, type LaneRoute } from './modules/dialects/hot-lane.js';
import { OpenAiController } from './modules/dialects/openai.controller.js';
import { ProblemFilter } from './modules/dialects/problem.filter.js';
import { ResponsesController } from './modules/dialects/responses.controller.js';

/** What has been wired, by its class. */
interface Wired {
  get<T>(type: new (...parts: never[]) => T, options?: { strict: boolean }): T;
}

/** The paths that are asked for all the time, with the handlers that the framework would have called. */
export function openLane(app: Wired): HotLane {
  const guard = app.get(ScopeGuard, { strict: false });
  const filter = app.get(ProblemFilter, { strict: false });
  const route = (controller: { readonly create: unknown } & Pick<LaneRoute, 'serve'>): LaneRoute => ({
    admit: ({ request }) => guard.admit(controller.create, request),
    serve: (exchange) => controller.serve(exchange),
  });
  const openai = app.get(OpenAiController);
  const handlers: Readonly<Record<Operation, unknown>> = openai;
  const operation = (name: Operation): LaneRoute => ({
    admit: ({ request }) => guard.admit(handlers[name], request),
    serve: (exchange) => openai.serve(name, exchange),
  });
  return new HotLane((error, exchange) => filter.answer(error, exchange))
    .add(OPERATION_PATHS.chat, operation('chat'))
    .add(OPERATION_PATHS.completions, operation('completions'))
    .add(OPERATION_PATHS.embeddings, operation('embeddings'))
    .add(OPERATION_PATHS.rerank, operation('rerank'))
    .add('/v1/responses', route(app.get(ResponsesController)))
    .add('/llm/v1/messages', route(app.get(AnthropicController)));
}
