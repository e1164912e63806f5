import t from 'tap'
import { keyedPlatformId, markerOf } from '../../../src/app/tasks/task-keys.ts'
import { isPlatformId } from '../../../src/kernel/ids.ts'
import { bodyHashOf, keyHashOf } from '../../../src/kernel/keyed-hash.ts'

const key = { tenantId: 'tenant_1', surface: 'provA.tasks', key: 'k' }

t.test('a marker is stable per tenant in its first part and unique per task', async (t) => {
  const one = markerOf('secret', 'tenant_1', 'video_1')
  const two = markerOf('secret', 'tenant_1', 'video_2')
  t.equal(one, markerOf('secret', 'tenant_1', 'video_1'))
  t.equal(one.slice(0, 24), two.slice(0, 24))
  t.not(one, two)
  t.not(one.slice(0, 24), markerOf('secret', 'tenant_2', 'video_1').slice(0, 24))
  t.not(one, markerOf('other', 'tenant_1', 'video_1'))
  t.match(one, /^[0-9a-f]{56}$/)
})

t.test('a keyed id is a platform id derived from every part of the key', async (t) => {
  const ids = [
    keyedPlatformId('secret', 'video', key, 0),
    keyedPlatformId('secret', 'video', key, 1),
    keyedPlatformId('other', 'video', key, 0),
    keyedPlatformId('secret', 'video', { ...key, tenantId: 'tenant_2' }, 0),
    keyedPlatformId('secret', 'video', { ...key, surface: 'v1.videos' }, 0),
    keyedPlatformId('secret', 'video', { ...key, key: 'l' }, 0),
    // Parts must not run into each other.
    keyedPlatformId(
      'secret',
      'video',
      { tenantId: 'tenant_1p', surface: 'rovA.tasks', key: 'k' },
      0,
    ),
  ]
  t.ok(ids.every(isPlatformId))
  t.equal(new Set(ids).size, ids.length)
  t.equal(keyedPlatformId('secret', 'video', key, 0), ids[0])
})

t.test('hashes of keys and bodies are keyed', async (t) => {
  t.not(keyHashOf('a', 'k'), keyHashOf('b', 'k'))
  t.not(bodyHashOf('a', 'k'), bodyHashOf('b', 'k'))
  t.not(keyHashOf('a', 'k'), bodyHashOf('a', 'k'))
})
