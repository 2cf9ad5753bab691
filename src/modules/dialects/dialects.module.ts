import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { ServerConfig } from '../../common/config/server.config.js';
import { AdmissionModule } from '../admission/admission.module.js';
import { SlotController } from '../admission/slot-controller.js';
import { AuthModule } from '../auth/auth.module.js';
import { ProxyModule } from '../proxy/proxy.module.js';
import { EngineQuery } from '../proxy/engine-query.js';
import { AnthropicController } from './anthropic.controller.js';
import { AnthropicModelsController } from './anthropic-models.controller.js';
import { ModelsController } from './models.controller.js';
import { OpenAiController } from './openai.controller.js';
import { ProblemFilter } from './problem.filter.js';
import { ProblemRenderer } from './problem-renderer.js';
import { ResponsesController } from './responses.controller.js';
import { TokenCounter } from './token-counter.js';

/** How callers speak. */
@Module({
  imports: [AuthModule, AdmissionModule, ProxyModule],
  controllers: [
    OpenAiController,
    ResponsesController,
    ModelsController,
    AnthropicController,
    AnthropicModelsController,
  ],
  providers: [
    ProblemFilter,
    { provide: APP_FILTER, useExisting: ProblemFilter },
    {
      provide: ProblemRenderer,
      inject: [ServerConfig],
      useFactory: (server: ServerConfig) => new ProblemRenderer(server.problemBase),
    },
    {
      provide: TokenCounter,
      inject: [SlotController, EngineQuery],
      useFactory: (slots: SlotController, query: EngineQuery) => new TokenCounter(slots, query),
    },
  ],
  exports: [ProblemRenderer],
})
export class DialectsModule {}
