import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { startStack } from '../helpers/stack.ts'
import { chromium } from '../helpers/requirements.ts'
import { withPage } from './support/browser.ts'
import { call } from './support/client.ts'
import { addController, administration } from './support/console.ts'
import { type Hand, handsFor, walkOf } from './support/hands.ts'
import { settlePastWeeks } from './support/past-weeks.ts'
import { recordPicture } from './support/pictures.ts'

const skip = chromium.missing

/** A month of a controller in the console: from what was spent to a line, its price, the account and what waits. */

const stack = await startStack()
t.teardown(() => stack.stop())
const { url, demo, access } = stack
const { tenantId, userId } = demo

const manage = administration(stack)

const { items: tokens } = await manage('GET', `/tokens?tenant_id=${tenantId}`)
const owner = { tenantId, userId, tokenId: String(tokens[0].id) }
// The month before this one has days with calls, whatever day it is.
await settlePastWeeks(access.log, owner, Date.now(), 45)

const tenantName = String((await manage('GET', `/tenants/${tenantId}`)).name)
const [book] = (await manage('GET', '/price-books')).items
const { prices } = await manage('GET', `/price-books/${book.version}`)
const dearer = 'text-basic-output-token'
await manage('POST', '/price-books', {
  version: 'next',
  demonstrations: true,
  effective_from: '2099-01-01T00:00:00Z',
  confirm: true,
  prices: prices.map((price: { readonly sku: string }) =>
    price.sku === dearer ? { ...price, price: '2.5' } : price,
  ),
})
const limits = [{ currency: 'USD', above: '10' }]
await manage('PUT', `/tenants/${tenantId}/approvals`, { limits, lapse_hours: 72 })

const colleague = await addController(stack, 'leo')
await stack.caughtUp()

const propose = async (token: string, id: string) =>
  manage(
    'POST',
    `/tenants/${tenantId}/credit/grants`,
    { currency: 'USD', amount: '50', reason: id, grant_id: id.replaceAll(' ', '_') },
    token,
  )

async function month(t: Test, page: Page, hand: Hand, name: string): Promise<void> {
  const token = await addController(stack, name)
  const paid = `invoice of ${name}`
  const [own, wrong] = [`own of ${name}`, `wrong of ${name}`]
  await propose(colleague, paid)
  await propose(colleague, wrong)
  await stack.caughtUp()
  await propose(token, own)
  await stack.caughtUp()
  const { follow, press, unfold, write, choose, sees } = walkOf(page, hand)
  const picture = (what: string) => recordPicture(t, page, hand, what)

  await page.goto(`${url}/console`)
  await write('Token', token)
  await press('Sign in')
  await sees(/Top tenants yesterday/)

  t.comment('who spent what')
  await follow(tenantName)
  await write('Reason', 'close of the month')
  await press('View tenant')
  await sees(/Spend by day and model/i)
  for (const model of ['text-basic', 'text-reason', 'speech-2.8-hd']) await sees(new RegExp(model))
  await picture('overview')

  t.comment('the lines of last month')
  await follow('Ledger')
  await write('Tenant', tenantId)
  await choose('Time', 'last_month')
  await press('Show')
  await page.waitForURL(/time_preset=last_month/)
  await sees(/speech-2\.8-hd-character/)
  await picture('ledger')

  t.comment('its sums by day and model, and the lines of one')
  await follow('Summary')
  await page.waitForURL(/\/summary\?tenant_id=/)
  await choose('Then by', 'model')
  await choose('Time', '30d')
  await press('Show')
  await sees(/Settled by day and model/i)
  await picture('summary')
  await choose('Group by', 'model')
  await choose('Then by', '')
  await choose('Time', 'last_month')
  await press('Show')
  const usage = `/usage?group_by=model&time_preset=last_month&tenant_id=${tenantId}`
  const { body } = await call(`${url}/api/query/v1${usage}`, { token: demo.queryToken })
  for (const { model, net, lines } of body.data.items) {
    const digits = String(net).split('.')[1] ?? ''
    await sees(new RegExp(`${model}.*\\s${lines}\\s.*${digits}`))
  }
  await follow('text-reason')
  await sees(/text-reason-output-token/, /text-basic/)

  t.comment('a line: its formula, where its price is from, how it is verified')
  await follow(/^\d\d? [A-Z][a-z]+ \d{4}/)
  const line = await sees(/Calculation/)
  t.match(line, / [×*] .* [÷/] 1[  ,]?000[  ,]?000 = /)
  t.match(line, /tollgate receipt call_\w+:\d/)
  await follow(`price book ${book.version}`)
  await sees(new RegExp(`Price book ${book.version}`))

  t.comment('what the next book would have cost')
  await follow('Prices')
  await follow('next')
  await choose('Compare with', book.version)
  await choose('Cost of usage of', 'last_month')
  await press('Show')
  await sees(/prices are unchanged/)
  const changed = await sees(/a difference of/)
  t.match(changed, new RegExp(`${dearer}\\s+changed`))
  t.match(changed, /25(?:\.0+)?\s%/)

  t.comment('the account, month by month')
  await follow('Movements')
  await write('Tenant', tenantId)
  await press('Show')
  await sees(/Account in USD/)
  await follow('Month before')
  const account = await sees(/opening balance/)
  t.match(account, /usage/)

  t.comment('what waits for a second person')
  await follow(/^Proposals/)
  await follow('credit', paid)
  await sees(/Proposed credit for/)
  await unfold('Approve')
  await press('Approve')
  await sees(/This proposal was approved/)
  await follow(/^Proposals/)
  await follow('credit', own)
  await unfold('Approve')
  await press('Approve')
  await sees(/proposer approves|other than its proposer/i, /was approved/)
  await follow(/^Proposals/)
  await follow('credit', wrong)
  await unfold('Reject')
  await write('Reason', 'not on the bank statement')
  await press('Reject')
  await sees(/This proposal was rejected/)

  t.comment('and it is on the account, once')
  await stack.caughtUp()
  await follow('Ledger')
  await follow('Movements')
  await write('Tenant', tenantId)
  await choose('Time', '7d')
  await press('Show')
  const week = await sees(new RegExp(paid))
  t.equal(week.split(paid).length, 2)
  t.notMatch(week, new RegExp(`${own}|${wrong}`))

  await unfold('finance')
  await press('Sign out')
  await page.getByLabel('Token', { exact: true }).waitFor()
}

const names = ['Ann', 'Ben', 'Cleo']
for (const [n, hand] of handsFor('by keyboard alone').entries())
  t.test(`the work of a month, ${hand.name}`, { skip }, async (t) => {
    await withPage((page) => month(t, page, hand, names[n] ?? ''), hand.options)
  })
