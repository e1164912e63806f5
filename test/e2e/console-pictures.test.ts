import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { checkout } from '../helpers/checkout.ts'
import { until } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { withPage } from './support/browser.ts'
import { call, tasksOf } from './support/client.ts'
import { settlePastWeeks } from './support/past-weeks.ts'

/**
 * The pictures of the documentation: what they show is walked to, and is on the pages as they are.
 * `RECORD_PICTURES=1` takes them again.
 */

const size = { width: 1_100, height: 700 }
const stack = await startStack()
t.teardown(() => stack.stop())
const { url, demo } = stack
const tokens = await call(`${url}/api/admin/tokens?tenant_id=${demo.tenantId}`, {
  token: demo.adminToken,
})
const { tenantId, userId } = demo
const tokenId = String(tokens.body.data.items[0].id)
await settlePastWeeks(stack.access.log, { tenantId, userId, tokenId }, Date.now(), 20)
const task = String((await tasksOf(url, demo.modelToken).create()).body.id)
await until(async () => {
  const { body } = await call(`${url}/api/query/v1/lives/${task}`, { token: demo.queryToken })
  return body.data?.state === 'settled'
})
await stack.caughtUp()

/** Width and height, as the header of a PNG file has them. */
const sizeOf = (png: Buffer) => ({ width: png.readUInt32BE(16), height: png.readUInt32BE(20) })

for (const colorScheme of ['light', 'dark'] as const)
  t.test(`overview, a life and the ledger in a ${colorScheme} scheme`, async (t) => {
    await withPage(
      t,
      async (page) => {
        const taken = async (name: string): Promise<void> => {
          const file = `docs/images/console-${name}${colorScheme === 'dark' ? '-dark' : ''}.png`
          const png = await page.screenshot()
          if (process.env['RECORD_PICTURES'] === '1') writeFileSync(new URL(file, checkout), png)
          t.same(sizeOf(readFileSync(new URL(file, checkout))), sizeOf(png), file)
        }
        await page.goto(`${url}/console`)
        await page.fill('input[name=token]', demo.queryToken)
        await page.press('input[name=token]', 'Enter')
        await page.waitForSelector('figure svg')
        const spend = await page.locator('main').textContent()
        for (const model of ['text-basic', 'text-reason', 'speech-2.8-hd']) t.match(spend, model)
        await taken('overview')
        await page.fill('.find input', task)
        await page.press('.find input', 'Enter')
        await page.waitForSelector('.verdict')
        t.match(await page.locator('h1').textContent(), /^Settled once: /)
        t.equal(await page.locator('.step').count(), 3)
        await taken('life')
        await page.click('nav >> text=Ledger')
        await page.waitForSelector('td >> text=speech-2.8-hd-character')
        await taken('ledger')
      },
      { colorScheme, viewport: size },
    )
  })
