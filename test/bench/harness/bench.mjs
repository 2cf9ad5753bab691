import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Children } from './children.mjs';
import { compareMode } from './compare.mjs';
import { conditionsOf } from './conditions.mjs';
import { measureGrowth } from './growth.mjs';
import { startIssuer } from './issuer.mjs';
import { measureLeaving } from './leaving.mjs';
import { LoadGenerator } from './load-generator.mjs';
import { measureParked } from './memory.mjs';
import { COMPARISONS } from './modes.mjs';
import { lackingTargets, startEngine, startTarget } from './targets.mjs';

const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

/** One run of the bench, and all that it has started. */
export class Bench {
  #children = new Children();
  #folder = mkdtempSync(join(tmpdir(), 'bench-'));
  #issuer;
  #startedAt = performance.now();
  #start = '';
  interrupted = false;

  constructor(options) {
    this.options = options;
    for (const [signal, code] of Object.entries(EXIT_CODES)) process.once(signal, () => void this.#interrupt(code));
    this.#pinItself();
  }

  /** What was found, by mode: how it was measured, and a result for each start. */
  async run() {
    const names = await this.#measurable();
    this.#issuer = await startIssuer();
    const engine = await startEngine(this.#children);
    const surroundings = {
      children: this.#children,
      engine,
      issuer: this.#issuer,
      folder: this.#folder,
      profile: this.options.profile,
    };
    const run = {
      ...this.options,
      names,
      engine,
      load: new LoadGenerator(this.#children),
      token: this.#issuer.token,
      progress: this.#progress,
      start: (name) => startTarget(name, surroundings),
      stop: ({ child }) => child === undefined || this.#children.stop(child),
    };
    const { rounds, scale } = this.options;
    const how = { conditions: conditionsOf(this.#children.apart), rounds, scale };
    const found = await this.#measure(run);
    return Object.fromEntries(Object.entries(found).map(([mode, starts]) => [mode, { run: how, starts }]));
  }

  async #measure(run) {
    const { modes, starts } = this.options;
    const found = Object.fromEntries(modes.map((mode) => [mode, []]));
    for (let start = 1; start <= starts; start += 1) {
      this.#start = `start ${start} of ${starts}, `;
      for (const [mode, columns] of Object.entries(await this.#besideEachOther(run))) found[mode].push(columns);
      if (modes.includes('parked')) found.parked.push(await measureParked(run));
    }
    this.#start = '';
    if (modes.includes('growth')) found.growth.push(await measureGrowth(run));
    return found;
  }

  /** The modes in which all targets are up, and take turns. */
  async #besideEachOther(run) {
    const { modes } = this.options;
    const comparisons = modes.filter((mode) => mode in COMPARISONS);
    const found = {};
    if (comparisons.length === 0 && !modes.includes('leaving')) return found;
    const targets = new Map();
    for (const name of run.names) targets.set(name, await run.start(name));
    for (const mode of comparisons) found[mode] = await compareMode(mode, targets, run);
    if (modes.includes('leaving')) found.leaving = await measureLeaving(targets, run);
    for (const target of targets.values()) await run.stop(target);
    return found;
  }

  /** Ends all that it has started. */
  async end() {
    await this.#children.stopAll();
    this.#issuer?.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #interrupt(code) {
    this.interrupted = true;
    await this.end();
    process.exit(code);
  }

  async #measurable() {
    const { only } = this.options;
    const lacking = await lackingTargets(only, this.#children);
    for (const [name, why] of lacking) this.#progress(`${name} is left out: ${why}`);
    return only.filter((name) => !lacking.has(name));
  }

  /** Out of the way of what is measured. */
  #pinItself() {
    const { apart, processors } = this.#children;
    if (!apart) return;
    execFileSync('taskset', ['-a', '-p', '-c', String(processors.load), String(process.pid)], { stdio: 'ignore' });
  }

  #progress = (text) => {
    const seconds = Math.round((performance.now() - this.#startedAt) / 1000);
    process.stderr.write(`${String(seconds).padStart(5)} s  ${this.#start}${text}\n`);
  };
}
