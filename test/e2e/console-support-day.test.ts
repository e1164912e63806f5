import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { addUser, disableToken, issueToken } from '../../src/app/accounts/account-commands.ts'
import { until } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { chromium } from '../helpers/requirements.ts'
import { withPage } from './support/browser.ts'
import { call, tasksOf } from './support/client.ts'
import { type Hand, handsFor, walkOf } from './support/hands.ts'
import { recordPicture } from './support/pictures.ts'

const skip = chromium.missing

/** A day of support in the console: eight questions of a customer, answered by each hand. */

const stack = await startStack()
t.teardown(() => stack.stop())
const { url, demo, other, access } = stack
const { tenantId } = demo

// The token is of another tenant, so that the customer's pages ask for a reason.
const { secret: supporter } = await issueToken(access, {
  tenantId: other.tenantId,
  userId: other.userId,
  kind: 'admin',
  name: 'support desk',
  scope: { level: 'all_tenants' },
  role: 'support',
})

const read = (path: string) => call(`${url}/api/query/v1${path}`, { token: demo.queryToken })
const isSettled = async (id: string) => (await read(`/lives/${id}`)).body.data?.state === 'settled'

const { headers: ofOther } = await tasksOf(url, demo.modelToken).create({ prompt: 'of another' })
const foreign = String(ofOther.get('x-platform-id'))

/** Makes the calls and tasks that the customer of one hand asks about. */
async function customer(name: string) {
  const user = name.toLowerCase()
  await addUser(access, { tenantId, userId: user, name })
  const of = { tenantId, userId: user, kind: 'model', name: `jobs of ${name}` } as const
  const token = await issueToken(access, of)
  await stack.caughtUp()
  const chat = async (content: string, model = 'text-basic') => {
    const { headers } = await call(`${url}/v1/chat/completions`, {
      method: 'POST',
      token: token.secret,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
    })
    return { id: headers.get('x-call-id') ?? '', request: headers.get('x-request-id') ?? '' }
  }
  const tasks = tasksOf(url, token.secret)
  const made = await tasks.create({ prompt: `a boat for ${name}` })
  const video = String(made.headers.get('x-platform-id'))
  const failing = await tasks.create({
    prompt: 'x [[sandbox fail=OutputVideoSensitiveContentDetected]]',
  })
  const failed = String(failing.headers.get('x-platform-id'))
  const first = await chat(`order of ${name}`)
  const again = await chat(`order of ${name}`)
  await chat(`a story for ${name}`, 'text-reason')
  const refused = await chat('hi', `text-${name}`)
  await tasks.reaches(String(failing.body.id), 'failed')
  await until(() => isSettled(video))
  await disableToken(access, { tokenId: token.tokenId, reason: 'left' })
  await until(async () => (await read(`/search?q=${refused.request}`)).body.data.items.length > 0)
  await stack.caughtUp()
  return { user, token, video, failed, first, again, refused }
}

async function day(t: Test, page: Page, hand: Hand, name: string): Promise<void> {
  const { user, token, video, failed, first, again, refused } = await customer(name)
  const { follow, press, unfold, write, choose, find, sees } = walkOf(page, hand)
  const picture = (what: string) => recordPicture(t, page, hand, what)

  await page.goto(`${url}/console`)
  await write('Token', supporter)
  await press('Sign in')
  await sees(/All tenants, yesterday and today/)

  t.comment('1. Where is my video?')
  await find(video)
  await sees(new RegExp(`Reason to view ${tenantId}`))
  await write('Reason', `case of ${name}`)
  await press('View tenant')
  await sees(/Settled once: /)
  await picture('life')

  t.comment('2. It showed another state before: what was it, and what did it hold?')
  await follow('One step back')
  await sees(/not yet/)
  await choose('compare with', '1')
  await press('Show')
  t.match(await sees(/Between step 1 and step 2/), /passed/)

  t.comment('3. Was I charged twice?')
  await find(first.id)
  await sees(new RegExp(first.id))
  await sees(new RegExp(`${again.id}.*after this one.*charged .* too`))
  await follow(again.id)
  await sees(new RegExp(`${first.id}.*before this one`))

  t.comment('4. The other video failed: do I pay for it?')
  await follow('Failed')
  await sees(new RegExp(failed))
  await follow(failed)
  await sees(/Not billed: the task failed/)

  t.comment('5. Why was my request refused?')
  await follow('Failed')
  await write('Code', 'unknown_model')
  await press('Show')
  await sees(new RegExp(refused.request))
  await follow(refused.request)
  await sees(/The model does not exist or may not be used[^]*unknown_model/)

  t.comment('6. My token does not work any more; it ends so')
  await find(token.secret.slice(-4))
  t.match(await sees(/Disabled/), new RegExp(`jobs of ${name}`))

  t.comment('7. What has this user done today?')
  await follow(tenantId)
  await sees(/Users/)
  await follow('activity')
  await sees(/Activity of/)
  await write('User', user)
  await press('Show')
  await sees(new RegExp(again.id), new RegExp(foreign))
  await picture('activity')
  await follow(first.id)

  t.comment('8. It was bad: I want half of it back')
  await find(video)
  await sees(/Settled once: /)
  await unfold('Refund')
  await write('Reason (shown in the ledger)', 'flickers')
  const [, amount] =
    /^All of it \(([0-9.]+) /.exec(await page.locator('select[name=line_id]').innerText()) ?? []
  await choose('Code (for reports)', 'quality')
  await press('Propose refund')
  t.match(
    await sees(/Proposed refund of a line/),
    /An operator with the role finance, or without a role, approves/,
  )
  await follow('Proposals')
  await sees(/flickers/)

  t.comment('and a note for the next one')
  await find(video)
  await unfold('Add a note')
  await write('Note', `proposed ${amount}, ${name}`)
  await press('Add a note')
  await sees(new RegExp(`proposed ${amount}, ${name}`))

  await unfold('support')
  await press('Sign out')
  await page.getByLabel('Token', { exact: true }).waitFor()
  await page.goto(`${url}/console/life/${video}`)
  await page.getByLabel('Token', { exact: true }).waitFor()

  const path = `/api/admin/proposals?tenant_id=${tenantId}`
  const proposed = await call(`${url}${path}`, { token: demo.adminToken })
  const ofVideo = proposed.body.data.items.filter((item: object) =>
    JSON.stringify(item).includes(`${video}:1`),
  )
  t.match(ofVideo, [{ state: 'proposed', posting: { amount, reason: 'flickers' } }])
  t.equal(ofVideo.length, 1)
  const { data } = (await read(`/lives/${video}`)).body
  t.match(data.receipt, { adjusted: '0' }, 'nothing moved')
}

const names = ['Ann', 'Ben', 'Cleo']
for (const [n, hand] of handsFor('without script').entries())
  t.test(`the questions of a day, ${hand.name}`, { skip }, async (t) => {
    await withPage((page) => day(t, page, hand, names[n] ?? ''), hand.options)
  })
