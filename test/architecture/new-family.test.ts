import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { call } from '../e2e/support/client.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { echoFamily, echoSandbox } from './support/call-family.ts'
import { clayFamily, claySandbox } from './support/task-family.ts'

/** A family of tasks and one of calls that no file of the program knows: all of it serves them. */

/** Begins after the shipped one. */
const book = readFileSync(new URL('../../infra/pricebook.yaml', import.meta.url), 'utf8')
  .replace(/^version: .*/m, "version: 'with-further-families'")
  .replace(/^effective_from: .*/m, "effective_from: '2026-01-02T00:00:00Z'")
const prices = join(mkdtempSync(join(tmpdir(), 'tollgate-prices-')), 'pricebook.yaml')
writeFileSync(
  prices,
  `${book.trimEnd()}
  - { sku: clay-1-figure, currency: USD, unit: figure, per: 1, price: '0.25' }
  - { sku: echo-1-word, currency: USD, unit: word, per: 1, price: '0.5' }
`,
)

const stack = await startStack({
  env: { PRICEBOOK_FILE: prices },
  further: { families: [clayFamily, echoFamily], sandbox: [claySandbox, echoSandbox] },
})
t.teardown(() => stack.stop())
const { url, demo } = stack

const get = (path: string, token = demo.modelToken) => call(`${url}${path}`, { token })
const post = (path: string, body: object) =>
  call(`${url}${path}`, {
    method: 'POST',
    token: demo.modelToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const linesOf = async (sku: string) => {
  await stack.caughtUp()
  const { body } = await get(`/api/query/v1/ledger/lines?sku=${sku}`, demo.queryToken)
  return body.data.items as readonly { readonly amount: string; readonly request_id: string }[]
}

void t.test('a task of a new family is created, read and billed', async (t) => {
  const created = await post('/clay/figures', { model: 'clay-1-260101', pose: 'standing' })
  t.equal(created.status, 200, created.text)
  const { figure } = created.body
  const seen = await eventually('a figure', async () => {
    const { body } = await get(`/clay/figures/${figure}`)
    return body.state === 'succeeded' ? body : undefined
  })
  t.match(seen, { figure, link: `https://media.example.com/${figure}` })
  t.match(await linesOf('clay-1-figure'), [{ amount: '0.25', model: 'clay-1' }])
})

void t.test('a call of a new family is answered and billed', async (t) => {
  const answer = await post('/echo/say', { model: 'echo-1', text: 'over the hills' })
  t.equal(answer.status, 200, answer.text)
  t.match(answer.body, { said: 'over the hills', words: 3 })
  t.match(await linesOf('echo-1-word'), [{ amount: '1.5', quantity: 3 }])
})

void t.test('tasks and calls of new families are quoted', async (t) => {
  const figure = await post('/v1/quote', {
    path: '/clay/figures',
    body: { model: 'clay-1', pose: 'lying' },
  })
  t.match(figure.body, { hold: '0.25', lines: [{ sku: 'clay-1-figure', rule: 'clay/figure' }] })
  const echo = await post('/v1/quote', {
    path: '/echo/say',
    body: { model: 'echo-1', text: 'so far' },
  })
  t.match(echo.body, { hold: '1', lines: [{ sku: 'echo-1-word', rule: 'echo/word' }] })
})

void t.test('models, endpoint names and the OpenAPI document have both families', async (t) => {
  const { body: models } = await get('/v1/models')
  t.match(
    models.data.find(({ id }: { id: string }) => id === 'echo-1'),
    { supported_endpoints: ['/echo/say'] },
  )
  t.ok(models.data.some(({ id }: { id: string }) => id === 'clay-1'))
  const { body: tasks } = await get('/api/query/v1/tasks?family=clay', demo.queryToken)
  t.match(tasks.data.items, [{ family: 'clay', endpoint: '/clay/figures', model: 'clay-1' }])
  const { body: logs } = await get('/api/query/v1/logs?model=echo-1', demo.queryToken)
  t.match(logs.data.items, [{ endpoint: '/echo/say', amount: '1.5' }])
  const { body: described } = await get('/openapi.json')
  for (const path of ['/clay/figures', '/echo/say'])
    t.ok(described.paths[path]?.post?.requestBody, path)
})

void t.test('failures of new families have their own envelope', async (t) => {
  for (const path of ['/clay/nowhere', '/echo/nowhere']) {
    const missing = await get(path)
    t.equal(missing.status, 404)
    t.match(missing.body, { oops: { word: 'unknown_url' } }, path)
  }
  const lacking = await post('/clay/figures', { model: 'clay-1' })
  t.equal(lacking.status, 400)
  t.match(lacking.body, { oops: { member: 'pose' } })
  const unknown = await post('/echo/say', { model: 'echo-2', text: 'x' })
  t.equal(unknown.status, 404)
  t.match(unknown.body, { oops: { word: 'model_not_found' } })
})

void t.test('members of a new family are refused elsewhere, and foreign ones by it', async (t) => {
  const clip = await post('/provC/ent/v2/text2video', {
    model: 'clipq3-pro',
    prompt: 'a boat',
    pose: 'standing',
  })
  t.equal(clip.status, 400)
  t.match(clip.text, /`pose` is not accepted here/)
  const figure = await post('/clay/figures', { model: 'clay-1', pose: 'lying', seconds: 5 })
  t.equal(figure.status, 400)
  t.match(figure.body, { oops: { member: 'seconds' } })
})
