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
  close(): Promise<void>;
}

/** The machine's own Chromium, without a window. */
export class OperatorBrowser {
  private constructor(private readonly browser: Browser) {}

  static async start(): Promise<OperatorBrowser> {
    const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'];
    return new OperatorBrowser(await chromium.launch({ executablePath: onPath('chromium'), args }));
  }

  async stop(): Promise<void> {
    await this.browser.close();
  }

  async open(address: string, screen: Screen = 'desktop', scheme: Scheme = 'light'): Promise<Watched> {
    const context = await this.browser.newContext({ ...SCREENS[screen], colorScheme: scheme, locale: 'en-GB' });
    const page = await context.newPage();
    const faults: string[] = [];
    const requested: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text());
    });
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('request', (request) => requested.push(request.url()));
    await page.addInitScript({ content: TELL_BLOCKED });
    await page.goto(address);
    await page.locator('body[data-link=live]').waitFor();
    return { page, faults, requested, close: () => context.close() };
  }
}

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
