import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import t from 'tap'
import { chromium as installed } from '../../helpers/requirements.ts'

/** A real browser, as the operating system brings it. */

const START_TIMEOUT_MS = 180_000
/** For anything a page is waited for. */
const PAGE_TIMEOUT_MS = 90_000

/** Starts it without a window, and without requests of its own. */
function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: installed.path(),
    timeout: START_TIMEOUT_MS,
    // The run of the tests handles signals.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

let opened: Promise<Browser> | undefined

/** One for all tests of a file, from the first that needs it; the next file of a process opens its own. */
function browserOfFile(): Promise<Browser> {
  if (opened !== undefined) return opened
  const opening = openBrowser()
  opened = opening
  t.teardown(async () => {
    opened = undefined
    await (await opening).close()
  })
  return opening
}

/** Opens a new page, for a test that is skipped where `chromium` of `helpers/requirements.ts` is missing. */
export async function withPage(
  use: (page: Page) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const browser = await browserOfFile()
  const page = await browser.newPage(options)
  page.setDefaultTimeout(PAGE_TIMEOUT_MS)
  await use(page)
  await page.close()
}
