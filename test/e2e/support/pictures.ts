import { readFileSync, writeFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { checkout } from '../../helpers/checkout.ts'
import type { Hand } from './hands.ts'

/** Width and height, as the header of a PNG file has them. */
const sizeOf = (png: Buffer) => ({ width: png.readUInt32BE(16), height: png.readUInt32BE(20) })

/**
 * The picture of a page in the documentation: of its size. `RECORD_PICTURES=1` takes it again. Hands without a scheme of
 * their own in the documentation take none.
 */
export async function recordPicture(t: Test, page: Page, hand: Hand, name: string): Promise<void> {
  const { scheme } = hand
  if (scheme === undefined) return
  const file = `docs/images/console-${name}${scheme === 'dark' ? '-dark' : ''}.png`
  const png = await page.screenshot()
  if (process.env['RECORD_PICTURES'] === '1') writeFileSync(new URL(file, checkout), png)
  t.same(sizeOf(readFileSync(new URL(file, checkout))), sizeOf(png), file)
}
