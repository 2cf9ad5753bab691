import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Crowd } from '../support/load-client.js';
import { lowContrast, OperatorBrowser, tooWide, type Scheme } from '../support/operator-browser.js';
import { OperatorWorld } from '../support/operator-world.js';

/** With SCREENSHOTS=docs (`npm run screenshots`) what is looked at here is kept as well. */
const FOLDER = process.env['SCREENSHOTS'];
const KEPT = new Set([
  ...['idle-desktop-light', 'load-desktop-light', 'load-desktop-dark', 'load-phone-light', 'load-phone-dark'],
  ...['degraded-desktop-light', 'degraded-phone-dark', 'story-desktop-light'],
]);
const LARGEST_BYTES = 200_000;
/** For pictures there has to be a past to be seen. */
const LOAD_MS = FOLDER === undefined ? 1_500 : 45_000;

const GROUNDS: Readonly<Record<Scheme, string>> = { light: 'rgb(244, 246, 248)', dark: 'rgb(14, 18, 22)' };

let world: OperatorWorld;
let browser: OperatorBrowser;
let crowd: Crowd | undefined;

beforeAll(async () => {
  world = await OperatorWorld.start();
  browser = await OperatorBrowser.start();
}, 60_000);

afterAll(async () => {
  await crowd?.stop();
  await browser.stop();
  await world.stop();
}, 30_000);

/** Looks at the page on every screen: nothing sticks out, everything can be read, nothing went wrong. */
async function lookAt(scene: string, hash = ''): Promise<void> {
  for (const screen of ['desktop', 'phone'] as const) {
    const { page, faults, close } = await browser.open(`${world.address}${hash}`, screen);
    if (hash !== '') await page.locator('#story .steps').first().waitFor();
    await page.locator('article.upstream').first().waitFor();
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      const ground = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
      const found = { ground, wide: await tooWide(page), pale: await lowContrast(page), faults };
      const nothing = { ground: GROUNDS[scheme], wide: [], pale: [], faults: [] };
      expect({ scene, screen, scheme, ...found }).toEqual({ scene, screen, scheme, ...nothing });
      await keep(`${scene}-${screen}-${scheme}`, () => page.screenshot({ animations: 'disabled' }));
    }
    await close();
  }
}

async function keep(name: string, take: () => Promise<Buffer>): Promise<void> {
  if (FOLDER === undefined || !KEPT.has(name)) return;
  const picture = await take();
  expect(picture.length).toBeLessThan(LARGEST_BYTES);
  await mkdir(FOLDER, { recursive: true });
  await writeFile(join(FOLDER, `operator-page-${name}.png`), picture);
}

it('is whole and readable on a desktop and a phone, light and dark: idle', () => lookAt('idle'), 30_000);

it('… under load, with requests that wait and some that were turned away', async () => {
  crowd = world.crowd();
  await delay(LOAD_MS);
  await world.turnSomeAway();
  await lookAt('load');
}, 90_000);

it('… with the story of a request', async () => {
  await world.chat('story-of-one', { 'x-llmgw-session': 'console', 'x-llmgw-band': 'gold' });
  await lookAt('story', '#request=story-of-one');
}, 60_000);

it('… while one engine refuses connections and the other hides its gauges', async () => {
  const [first, second] = world.engines;
  first?.setFaults({ metrics: { status: 500 } });
  await second?.refuse();
  await delay(FOLDER === undefined ? 1_500 : 4_000);
  await lookAt('degraded');
}, 60_000);
