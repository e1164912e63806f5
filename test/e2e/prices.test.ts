import { catalog } from '../../src/families/index.ts'
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { publishPriceBook } from '../../src/app/finance/prices/publish.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { chatFirst, startStack } from '../helpers/stack.ts'
import { call, tasksOf } from './support/client.ts'

t.test('with real accounts no demonstration price is charged, however published', async (t) => {
  const stack = await startStack({ realAccounts: true, channels: chatFirst })
  t.teardown(() => stack.stop())
  const chat = () =>
    call(`${stack.url}/v1/chat/completions`, {
      method: 'POST',
      token: stack.demo.modelToken,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'text-basic',
        messages: [{ role: 'user', content: 'hello' }],
      }),
    })
  const priced = tasksOf(stack.url, stack.demo.modelToken)
  const check = async (what: string) => {
    t.match(await chat(), { status: 503, body: { error: { code: 'price_not_configured' } } }, what)
    t.equal((await priced.create()).status, 200, 'what has a price is sold')
    const ready = await call(`${stack.url}/readyz`)
    t.equal(ready.status, 200)
    t.match(ready.body, {
      ready: true,
      degraded: [/^prices: .*text-basic \(text-basic-input-token\)/],
    })
  }
  await check('at the start')
  const yamlText = await readFile(new URL('../../infra/pricebook.yaml', import.meta.url), 'utf8')
  await publishPriceBook(
    { log: stack.gateway.log, catalog, clock: systemClock },
    { yamlText, demonstrations: true, correlationId: 'test', actor: 'tests' },
  )
  await stack.caughtUp()
  // A gateway that has not read any prices yet.
  const replica = await stack.replica()
  const answer = await call(`${replica.url}/readyz`)
  t.match(answer.body, { degraded: [/text-basic/] })
  await check('published by hand')
})
