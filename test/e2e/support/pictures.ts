import { readFileSync, writeFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { checkout } from '../../helpers/checkout.ts'
import type { Hand } from './hands.ts'

/** Width and height, as the header of a PNG file has them. */
const sizeOf = (png: Buffer) => ({ width: png.readUInt32BE(16), height: png.readUInt32BE(20) })

/** The pictures of a page in the documentation, light and dark: of its size. `RECORD_PICTURES=1` takes them again, at length. */
export async function recordPicture(t: Test, page: Page, hand: Hand, name: string): Promise<void> {
  if (hand.takesPictures !== true) return
  for (const colorScheme of ['dark', 'light'] as const) {
    // Borders change their colour gradually where motion is not reduced.
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const file = `docs/images/console-${name}${colorScheme === 'dark' ? '-dark' : ''}.png`
    const png = await page.screenshot()
    if (process.env['RECORD_PICTURES'] === '1') writeFileSync(new URL(file, checkout), png)
    t.same(sizeOf(readFileSync(new URL(file, checkout))), sizeOf(png), file)
  }
}
