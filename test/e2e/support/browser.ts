import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { findInstalled } from '../../helpers/child.ts'

/** A real browser, as the operating system brings it. */

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']
const START_TIMEOUT_MS = 60_000

/**
 * Where Chromium is: `CHROMIUM_PATH`, or what is found of its names; undefined where there is none, as
 * `findInstalled` says it. @throws where that path is of nothing
 */
export function findChromium(): string | undefined {
  const named = process.env['CHROMIUM_PATH'] ?? ''
  if (named === '') return findInstalled(NAMES, 'chromium')
  if (!existsSync(named)) throw new Error(`CHROMIUM_PATH: there is no ${named}`)
  return named
}

/** Starts it without a window; it asks nobody but who it is sent to. */
export function openBrowser(program: string): Promise<Browser> {
  return chromium.launch({
    executablePath: program,
    timeout: START_TIMEOUT_MS,
    // Whoever runs the tests ends them.
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
