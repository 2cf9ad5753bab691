import { OPERATIONS, type Operation } from '../canonical/canonical-request.js';
import type { AliasConfig } from './aliases.config.js';
import type { ModelConfig } from './models.config.js';
import type { OperationConfig, OperationsConfig } from './operations.config.js';
import type { UpstreamConfig } from './upstreams.config.js';

/** A model with its references followed. */
export interface Model {
  readonly id: string;
  readonly operations: ReadonlySet<Operation>;
  readonly upstream: UpstreamConfig;
  /** Tokens of prompt and answer together. */
  readonly contextLength: number;
}

/** The sections that say where a request goes. */
export interface RoutingSections {
  readonly upstreams: readonly UpstreamConfig[];
  readonly models: readonly ModelConfig[];
  readonly operations: OperationsConfig;
  readonly aliases: readonly AliasConfig[];
}

/** Which model is served where, and how. Built once from checked sections; names of clients are looked up in maps only. */
export class RoutingTable {
  readonly models: readonly Model[];
  readonly upstreams: readonly UpstreamConfig[];
  readonly aliases: readonly AliasConfig[];
  readonly #operations: OperationsConfig;
  readonly #modelById: ReadonlyMap<string, Model>;
  readonly #upstreamByName: ReadonlyMap<string, UpstreamConfig>;
  readonly #idsByOperation: ReadonlyMap<Operation, readonly string[]>;

  constructor(sections: RoutingSections) {
    this.upstreams = sections.upstreams;
    this.aliases = sections.aliases;
    this.#operations = sections.operations;
    this.#upstreamByName = new Map(sections.upstreams.map((upstream) => [upstream.name, upstream]));
    this.models = sections.models.map((model) => ({
      id: model.id,
      operations: new Set(model.operations),
      upstream: this.upstream(model.upstream),
      contextLength: model.contextLength,
    }));
    this.#modelById = new Map(this.models.map((model) => [model.id, model]));
    this.#idsByOperation = new Map(OPERATIONS.map((operation) => [operation, idsOf(this.models, operation)]));
  }

  /** The model of this id, exactly as written. undefined: there is none. */
  model(id: string): Model | undefined {
    return this.#modelById.get(id);
  }

  /** The ids of the models that do this, in the order of the configuration. */
  modelsFor(operation: Operation): readonly string[] {
    return this.#idsByOperation.get(operation) ?? [];
  }

  operation(name: Operation): OperationConfig {
    return this.#operations[name];
  }

  /** The upstream of this name, which must come from the configuration: an unknown one is a fault of the program. */
  upstream(name: string): UpstreamConfig {
    const upstream = this.#upstreamByName.get(name);
    if (upstream === undefined) throw new Error(`no upstream is named ${JSON.stringify(name)}`);
    return upstream;
  }
}

const idsOf = (models: readonly Model[], operation: Operation): readonly string[] =>
  models.filter((model) => model.operations.has(operation)).map((model) => model.id);
