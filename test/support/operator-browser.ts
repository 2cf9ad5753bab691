import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';

/** The screens that the page is looked at on. */
export const SCREENS = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
} as const satisfies Record<string, BrowserContextOptions>;
export type Screen = keyof typeof SCREENS;
export type Scheme = 'light' | 'dark';

/** Runs in the page before anything else. */
const TELL_BLOCKED = `document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
  console.error('blocked: ' + violatedDirective + ' ' + blockedURI));`;

/** A page, and all that went wrong on it. */
export interface Watched {
  readonly page: Page;
  /** Errors and warnings of the console, exceptions, and whatever the page's own policy has blocked. */
  readonly faults: string[];
  /** Everything that it asked for. */
  readonly requested: string[];
  /** Leaves the address. */
  close(): Promise<void>;
}

/** The machine's own Chromium, without a window: one page a screen, which goes from one address to the next. */
export class OperatorBrowser {
  readonly #pages = new Map<Screen, Promise<Watched>>();

  private constructor(private readonly browser: Browser) {}

  static async start(): Promise<OperatorBrowser> {
    const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'];
    return new OperatorBrowser(await chromium.launch({ executablePath: onPath('chromium'), args }));
  }

  async stop(): Promise<void> {
    await this.browser.close();
  }

  async open(address: string, screen: Screen = 'desktop'): Promise<Watched> {
    const known = this.#pages.get(screen) ?? this.#screen(screen);
    this.#pages.set(screen, known);
    const watched = await known;
    const { page, faults, requested } = watched;
    await watched.close();
    for (const list of [faults, requested]) list.length = 0;
    await page.emulateMedia({ colorScheme: 'light' });
    await page.goto(address);
    await page.locator('body[data-link=live]').waitFor();
    return watched;
  }

  async #screen(screen: Screen): Promise<Watched> {
    const context = await this.browser.newContext({ ...SCREENS[screen], locale: 'en-GB' });
    const page = await context.newPage();
    const faults: string[] = [];
    const requested: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text());
    });
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('request', (request) => requested.push(request.url()));
    await page.addInitScript({ content: TELL_BLOCKED });
    return { page, faults, requested, close: () => page.goto('about:blank').then(() => undefined) };
  }
}

/** The text of elements whose colours are too near to each other (WCAG 2.2, 1.4.3, level AA). Runs in the page. */
const LOW_CONTRAST = `(() => {
  const channels = (text) => {
    const found = text.match(/[\\d.]+/g).map(Number);
    return text.startsWith('color(srgb') ? [...found.slice(0, 3).map((one) => one * 255), found[3]] : found;
  };
  const over = (top, below) => {
    const alpha = top[3] ?? 1;
    return [0, 1, 2].map((at) => top[at] * alpha + below[at] * (1 - alpha));
  };
  const backgroundOf = (element) => {
    const layers = [];
    for (let at = element; at !== null; at = at.parentElement) layers.push(channels(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((one) => one / 255).map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const faults = [];
  for (const element of document.querySelectorAll('body *')) {
    const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join('');
    if (text === '' || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const below = backgroundOf(element);
    const [dark, light] = [luminance(over(channels(style.color), below)), luminance(below)].sort((a, b) => a - b);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = (light + 0.05) / (dark + 0.05);
    if (ratio < (large ? 3 : 4.5)) faults.push(ratio.toFixed(2) + ' ' + text);
  }
  return faults;
})()`;

export const lowContrast = (page: Page): Promise<string[]> => page.evaluate<string[]>(LOW_CONTRAST);

/** Elements that stick out of the screen to the side. Runs in the page. */
const TOO_WIDE = `[...document.querySelectorAll('body *')]
  .filter((element) => element.checkVisibility() && !element.matches('.skip'))
  .filter((element) => element.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
  .map((element) => element.tagName + '.' + element.className)
  .concat(document.documentElement.scrollWidth > document.documentElement.clientWidth ? ['the page'] : [])`;

export const tooWide = (page: Page): Promise<string[]> => page.evaluate<string[]>(TOO_WIDE);

function onPath(program: string): string {
  const found = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, program));
  const there = found.find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
  if (there === undefined) throw new Error(`${program} is not on the PATH`);
  return there;
}
