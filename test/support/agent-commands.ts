import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import type { AgentCommand } from './agent-run.js';

/** What an agent is to be run with. */
export interface AgentTask {
  /** The public listener of the gateway. */
  readonly origin: string;
  readonly model: string;
  readonly prompt: string;
  /** Its home folder. */
  readonly home: string;
}

/** An agent from npm. */
export interface Agent {
  readonly name: string;
  /** How it speaks, and where. */
  readonly dialect: 'anthropic' | 'responses';
  readonly route: '/llm/v1/messages' | '/v1/responses';
  /** The line that has the simulated model read a file with the agent's own tool, and the one that has it write one. */
  readonly read: (file: string) => string;
  readonly write: (file: string, content: string) => string;
  /** Hosts that it tries to reach even with telemetry and updates off. */
  readonly knownOutsideHosts: readonly string[];
  readonly command: (task: AgentTask) => AgentCommand;
}

const installed = (path: string): string => fileURLToPath(new URL(`../../node_modules/${path}`, import.meta.url));

const call = (tool: string, args: object): string => `sim:call ${tool} ${JSON.stringify(args)}`;

const piSpeaking = (
  speech: Pick<Agent, 'dialect' | 'route'>,
  api: 'anthropic-messages' | 'openai-responses',
  base: '/llm' | '/v1',
): Agent => ({
  name: 'pi',
  ...speech,
  read: (path) => call('read', { path }),
  write: (path, content) => call('write', { path, content }),
  knownOutsideHosts: [],
  command: ({ origin, model, prompt, home }) => ({
    script: installed('@earendil-works/pi-coding-agent/dist/bundle/cli.js'),
    args: ['-p', '--no-session', '--model', `gw/${model}`, prompt],
    env: { PI_OFFLINE: '1', PI_TELEMETRY: '0', PI_SKIP_VERSION_CHECK: '1', PI_CODING_AGENT_DIR: join(home, 'pi') },
    settings: {
      'pi/models.json': JSON.stringify({
        providers: {
          gw: {
            baseUrl: `${origin}${base}`,
            api,
            apiKey: 'any',
            models: [{ id: model, reasoning: true, contextWindow: 32_768, maxTokens: 4_096 }],
          },
        },
      }),
    },
  }),
});

const MESSAGES = { dialect: 'anthropic', route: '/llm/v1/messages' } as const;
const RESPONSES = { dialect: 'responses', route: '/v1/responses' } as const;

const CONTINUE: Agent = {
  name: 'Continue',
  ...MESSAGES,
  read: (filepath) => call('Read', { filepath }),
  write: (filepath, content) => call('Write', { filepath, content }),
  knownOutsideHosts: ['api.continue.dev'],
  command: ({ origin, model, prompt, home }) => ({
    script: installed('@continuedev/cli/dist/cn.js'),
    args: ['-p', '--auto', '--config', join(home, 'continue.yaml'), prompt],
    env: { CONTINUE_TELEMETRY_ENABLED: '0', CONTINUE_GLOBAL_DIR: join(home, 'continue') },
    settings: {
      'continue.yaml': stringify({
        name: 'gateway',
        version: '1.0.0',
        schema: 'v1',
        models: [
          {
            name: model,
            provider: 'anthropic',
            model,
            apiBase: `${origin}/llm/v1/`,
            apiKey: 'any',
            roles: ['chat'],
            capabilities: ['tool_use'],
            defaultCompletionOptions: { contextLength: 32_768, maxTokens: 4_096 },
          },
        ],
      }),
    },
  }),
};

export const AGENTS: readonly Agent[] = [
  piSpeaking(MESSAGES, 'anthropic-messages', '/llm'),
  piSpeaking(RESPONSES, 'openai-responses', '/v1'),
  CONTINUE,
];
