import type { IncomingMessage } from 'node:http';
import { Injectable, type CanActivate, type ExecutionContext, type OnModuleInit } from '@nestjs/common';
import { METHOD_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { recordOf } from '../../common/request-record.js';
import { CallerResolver } from './caller-resolver.js';
import { REQUIREMENT } from './require-scope.decorator.js';

/**
 * Establishes who calls, before the handler runs and before a byte of the body is read. A route that does not say what
 * it requires stops the start.
 */
@Injectable()
export class ScopeGuard implements CanActivate, OnModuleInit {
  constructor(
    private readonly callers: CallerResolver,
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
        const found: unknown = this.reflector.getAllAndOverride(
          REQUIREMENT,
          metatype ? [handler, metatype] : [handler],
        );
        if (found === undefined)
          throw new Error(`the route ${metatype?.name ?? '?'}.${name} does not say what scope it requires`);
      }
    }
  }

  canActivate(context: ExecutionContext): boolean {
    const { raw } = context.switchToHttp().getRequest<{ raw: IncomingMessage }>();
    const record = recordOf(raw);
    record.principal = this.callers.resolve(raw, record.peerAddress);
    return true;
  }
}
