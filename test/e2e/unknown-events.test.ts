import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import t from 'tap'
import { disableToken, issueToken } from '../../src/app/accounts/account-commands.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { call } from './support/client.ts'

/** Far below how long a token is served from memory without a look at its row. */
const NOTICED_MS = 10_000

const stack = await startStack()
t.teardown(() => stack.stop())
const { demo, access, namespace } = stack

void t.test('a token disabled behind an event of a newer program is refused', async (t) => {
  const replica = await stack.replica()
  const gateways = [stack.url, replica.url]
  const issue = (name: string) =>
    issueToken(access, { tenantId: demo.tenantId, userId: demo.userId, kind: 'model', name })
  const [ended, touched] = [await issue('ended'), await issue('touched')]
  const status = async (secret: string, at: string): Promise<number> =>
    (await call(`${at}/v1/models`, { token: secret })).status
  for (const { secret } of [ended, touched])
    for (const at of gateways) t.equal(await status(secret, at), 200, 'it is in memory')

  const raw = EventStoreDBClient.connectionString(stack.eventStoreUrl)
  t.teardown(() => raw.dispose())
  await raw.appendToStream(
    `${namespace}token-${touched.tokenId}`,
    jsonEvent({ type: 'TokenExploded', data: {}, metadata: {} }),
    { credentials: { username: 'x', password: 'x' } },
  )
  await disableToken(access, { tokenId: ended.tokenId, reason: 'stolen' })
  for (const { secret } of [ended, touched])
    for (const at of gateways)
      await eventually(
        'it is noticed',
        async () => ((await status(secret, at)) === 200 ? undefined : true),
        NOTICED_MS,
      )
  for (const at of gateways)
    t.equal(await status(demo.modelToken, at), 200, 'what is said of others is no matter')
})
