import t from 'tap'
import type { Principal } from '../../../../src/app/access/principal.ts'
import { type Channel, ProviderError } from '../../../../src/app/ports/provider.ts'
import { deleteResponse, getResponse } from '../../../../src/families/responses/calls/kept.ts'
import type { KeptResponseProvider } from '../../../../src/families/responses/ports.ts'
import { createKeptIds } from '../../../../src/families/text/calls/kept-ids.ts'
import type { JsonObject } from '../../../../src/kernel/json.ts'

const keptIds = createKeptIds('a secret of the tests')
const channel: Channel = {
  id: 'one',
  family: 'responses',
  region: 'overseas',
  baseUrl: 'https://models.example.com/v1',
  credential: 'x',
  models: { 'text-basic': 'vendor-4', 'text-large': 'vendor-4-large' },
  weight: 1,
  priority: 1,
  timeoutMs: 1_000,
  maxConcurrent: 4,
}
const principal = { tenantId: 'tenant_1', userId: 'u', tokenId: 't' } as Principal
const id = keptIds.seal('tenant_1', 'response', {
  channelId: 'one',
  upstreamId: 'resp_up',
  tokens: 40,
})

/** Asks an account that answers so; `undefined` is none of that id. */
function over(answer: JsonObject | ProviderError | undefined, channels: readonly Channel[]) {
  const asked: string[] = []
  const provider: KeptResponseProvider = {
    get: (at, upstreamId, namesOf) => {
      asked.push(`get ${at.id} ${upstreamId}`)
      if (answer instanceof ProviderError) return Promise.reject(answer)
      const names = answer && namesOf(answer)
      return Promise.resolve(
        answer &&
          names && { ...answer, model: names.model, id: names.keptId('response', 'resp_up') },
      )
    },
    delete: (at, upstreamId) => {
      asked.push(`delete ${at.id} ${upstreamId}`)
      return answer instanceof ProviderError
        ? Promise.reject(answer)
        : Promise.resolve(answer !== undefined)
    },
  }
  const directory = {
    byId: (name: string) => channels.find((one) => one.id === name),
    serving: () => channels,
  }
  const deps = { channels: directory, keptIds, provider }
  const call = { principal, id, requestId: 'req_1', signal: AbortSignal.timeout(1_000) }
  return {
    asked,
    get: (more: object = {}) => getResponse(deps, { ...call, ...more }),
    delete: (more: object = {}) => deleteResponse(deps, { ...call, ...more }),
  }
}

t.test('a version of an upstream model is the model of the longest configured name', async (t) => {
  for (const [upstream, model] of [
    ['vendor-4', 'text-basic'],
    ['vendor-4-2026-01-15', 'text-basic'],
    ['vendor-4-large', 'text-large'],
    ['vendor-4-large-2026-01-15', 'text-large'],
  ] as const)
    t.match(await over({ model: upstream }, [channel]).get(), { id, model }, upstream)
  for (const upstream of ['vendor-5', 'vendor-40', 7])
    t.notOk('model' in (await over({ model: upstream }, [channel]).get()), String(upstream))
})

t.test('response_not_found for a token bound to other models, before a deletion', async (t) => {
  const bound = (...models: readonly string[]) => ({
    principal: { ...principal, models: new Set(models) },
  })
  const world = over({ model: 'vendor-4' }, [channel])
  await t.rejects(world.get(bound('text-large')), { code: 'response_not_found' })
  await t.rejects(world.delete(bound('text-large')), { code: 'response_not_found' })
  t.same(world.asked, ['get one resp_up', 'get one resp_up'])
  await world.delete(bound('text-basic'))
  t.same(world.asked.slice(2), ['get one resp_up', 'delete one resp_up'])
  const unknown = over({ model: 'vendor-5' }, [channel])
  await t.rejects(unknown.get(bound('text-basic')), { code: 'response_not_found' })
})

t.test('kept_unavailable where the account is gone; nothing is asked', async (t) => {
  for (const channels of [[], [{ ...channel, family: 'chat' }]]) {
    const world = over({ model: 'vendor-4' }, channels)
    await t.rejects(world.get(), { code: 'kept_unavailable' })
    await t.rejects(world.delete(), { code: 'kept_unavailable' })
    t.same(world.asked, [])
  }
})

t.test('a failure of the account may be tried again; none of that id is not found', async (t) => {
  const failed = over(new ProviderError('timeout', 'unknown', 'No answer.'), [channel])
  const wanted = { code: 'upstream_timeout', details: { acceptance: 'ruled_out' } }
  await t.rejects(failed.get(), wanted)
  await t.rejects(failed.delete(), wanted)
  const none = over(undefined, [channel])
  await t.rejects(none.get(), { code: 'response_not_found' })
  await t.rejects(none.delete(), { code: 'response_not_found' })
})
