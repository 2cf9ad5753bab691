import { SetMetadata, type CustomDecorator } from '@nestjs/common';
import type { Operation } from '../../common/canonical/canonical-request.js';

export const REQUIREMENT = 'gateway:requirement';

/**
 * What a route asks of its caller: the scope of an LLM operation, that of the configured prefix that matches, any valid
 * token, or nothing. Which scope that is, the configuration says. `apiKey`: the token may come as `x-api-key`.
 */
export type Requirement =
  | { readonly operation: Operation; readonly apiKey?: true }
  | { readonly prefix: true }
  | { readonly anyToken: true; readonly apiKey?: true }
  | { readonly public: true };

/** Every controller or route carries one: a route without it stops the start. */
export const RequireScope = (requirement: Requirement): CustomDecorator => SetMetadata(REQUIREMENT, requirement);
