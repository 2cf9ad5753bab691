import type { IncomingMessage } from 'node:http';
import { Injectable, type CanActivate, type ExecutionContext, type OnModuleInit } from '@nestjs/common';
import { METHOD_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { AccessTable, ANY_TOKEN, NOTHING } from '../../common/config/access-table.js';
import type { Principal } from '../../common/principal.js';
import { recordOf, type RequestRecord } from '../../common/request-record.js';
import { CallerResolver, type Demand } from './caller-resolver.js';
import { REQUIREMENT, type Requirement } from './require-scope.decorator.js';

const OPEN: Demand = { right: NOTHING, apiKey: false };
/** Stands for what the prefix asks that the request's path lies in. */
const OF_PREFIX: Demand = { right: NOTHING, apiKey: false };

/**
 * Establishes who calls and that they may, before the handler runs and before a byte of the body is read. A route that
 * does not say what it requires stops the start.
 */
@Injectable()
export class ScopeGuard implements CanActivate, OnModuleInit {
  /** What each handler asks. */
  readonly #demands = new Map<unknown, Demand>();

  constructor(
    private readonly callers: CallerResolver,
    private readonly access: AccessTable,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  onModuleInit(): void {
    for (const { instance, metatype } of this.discovery.getControllers()) {
      const controller = instance as Record<string, () => unknown>;
      for (const name of this.scanner.getAllMethodNames(Object.getPrototypeOf(controller) as object)) {
        const handler = controller[name];
        if (handler === undefined || !Reflect.hasMetadata(METHOD_METADATA, handler)) continue;
        const found = this.reflector.getAllAndOverride<Requirement | undefined>(
          REQUIREMENT,
          metatype ? [handler, metatype] : [handler],
        );
        if (found === undefined)
          throw new Error(`the route ${metatype?.name ?? '?'}.${name} does not say what scope it requires`);
        this.#demands.set(handler, this.#demandOf(found));
      }
    }
  }

  /** Says so at once for a caller whose token is known. */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const { raw } = context.switchToHttp().getRequest<{ raw: IncomingMessage }>();
    return this.admit(context.getHandler(), raw);
  }

  /** The same for whoever calls a handler without the framework. Throws or rejects with the problem of a refusal. */
  admit(handler: unknown, raw: IncomingMessage): boolean | Promise<boolean> {
    const record = recordOf(raw);
    const demand = this.#demands.get(handler);
    if (demand === undefined) throw new Error('the route was not there when the gateway started');
    const asked = demand === OF_PREFIX ? this.#prefixDemand(raw, record) : demand;
    const found = this.callers.resolve(raw, record.peerAddress, asked);
    if (found instanceof Promise) return found.then((principal) => establish(record, principal));
    return establish(record, found);
  }

  #demandOf(requirement: Requirement): Demand {
    if ('public' in requirement) return OPEN;
    if ('prefix' in requirement) return OF_PREFIX;
    const right = 'operation' in requirement ? this.access.operation(requirement.operation) : ANY_TOKEN;
    return { right, apiKey: requirement.apiKey === true };
  }

  #prefixDemand(raw: IncomingMessage, record: RequestRecord): Demand {
    const found = this.access.prefix(raw.url ?? '');
    if (found === undefined) return OPEN;
    record.route = found.prefix;
    return { right: found.right, apiKey: false };
  }
}

function establish(record: RequestRecord, principal: Principal): true {
  record.principal = principal;
  return true;
}
