import { Registry } from 'prom-client'
import t from 'tap'
import { objectsConcern } from '../../../../src/app/files/objects/concern.ts'
import { DomainError } from '../../../../src/kernel/errors.ts'

/** Longer than a store is not asked again. */
const LATER_MS = 11_000

t.test(
  'a store that does not answer is reported until it does, and is asked now and then',
  async (t) => {
    let isAway = false
    let asked = 0
    let nowMs = 0
    const registry = new Registry()
    const marker = () => {
      asked += 1
      return isAway
        ? Promise.reject(new DomainError('storage_unavailable', 'away', {}))
        : Promise.resolve(undefined)
    }
    const { look } = objectsConcern({ marker }, registry, { nowMs: () => nowMs })
    const shown = async (): Promise<string> => (await registry.metrics()).split('\n').at(-2) ?? ''
    t.same(await look(), [])
    t.equal(await shown(), 'tollgate_object_store_up 1')
    t.equal(asked, 1)
    isAway = true
    t.same(await look(), [], 'not asked again yet')
    nowMs += LATER_MS
    t.match(await look(), [/object storage does not answer/])
    t.equal(await shown(), 'tollgate_object_store_up 0')
    t.equal(asked, 2)
    isAway = false
    nowMs += LATER_MS
    t.same(await look(), [])
    t.equal(await shown(), 'tollgate_object_store_up 1')
  },
)

t.test('a store that hangs is reported', async (t) => {
  const hanging = { marker: () => new Promise<undefined>(() => undefined) }
  t.match(await objectsConcern(hanging, new Registry()).look(), [/does not answer/])
})
