import { existsSync } from 'node:fs'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { findInstalled } from '../../helpers/child.ts'

/** A real browser, as the operating system brings it. */

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']
const START_TIMEOUT_MS = 60_000
/** For anything a page is waited for. */
const PAGE_TIMEOUT_MS = 20_000

/**
 * Where Chromium is: `CHROMIUM_PATH`, or what is found of its names; undefined where there is none, as
 * `findInstalled` says it. @throws where that path is of nothing
 */
function findChromium(): string | undefined {
  const named = process.env['CHROMIUM_PATH'] ?? ''
  if (named === '') return findInstalled(NAMES, 'chromium')
  if (!existsSync(named)) throw new Error(`CHROMIUM_PATH: there is no ${named}`)
  return named
}

/** Starts it without a window, and without requests of its own. */
function openBrowser(program: string): Promise<Browser> {
  return chromium.launch({
    executablePath: program,
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
function browserOfFile(program: string): Promise<Browser> {
  if (opened !== undefined) return opened
  const opening = openBrowser(program)
  opened = opening
  t.teardown(async () => {
    opened = undefined
    await (await opening).close()
  })
  return opening
}

/** Opens a new page, where there is a browser; elsewhere the test says that it shows nothing. */
export async function withPage(
  test: Test,
  use: (page: Page) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const program = findChromium()
  if (program === undefined) {
    test.comment(
      'NOT SHOWN HERE: there is no Chromium on this machine, and no apt-get to install it with',
    )
    return
  }
  const browser = await browserOfFile(program)
  const page = await browser.newPage(options)
  page.setDefaultTimeout(PAGE_TIMEOUT_MS)
  await use(page)
  await page.close()
}
