import t from 'tap'
import { done, newAsset, newGroup, OVERSEAS, verifiedPerson } from './asset-client.ts'
import { call, sandboxFor, TASKS, video } from './client.ts'

const NOW = 'sandbox running-ms=0'
const DOMESTIC_MODEL = 'domestic-video-2-5-260628'
const OVERSEAS_MODEL = 'overseas-video-2-0'

const kinds = {
  image: { type: 'image_url', role: 'reference_image' },
  video: { type: 'video_url', role: 'reference_video' },
  audio: { type: 'audio_url', role: 'reference_audio' },
} as const

/** A creation that refers to an asset. */
function using(id: string, model = DOMESTIC_MODEL, kind: keyof typeof kinds = 'image'): object {
  const { type, role } = kinds[kind]
  const reference = { type, role, [type]: { url: `asset://${id}` } }
  return video('x', { model, content: [{ type: 'text', text: 'x' }, reference] })
}

void t.test('an active asset of the model’s region is accepted', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const here = await newAsset(url, await newGroup(url), NOW)
  const there = { region: OVERSEAS }
  const overseas = await newAsset(url, await newGroup(url, there), NOW, {}, there)
  const create = (id: string, model: string) => call(url, 'POST', TASKS, using(id, model))
  t.equal((await create(here, DOMESTIC_MODEL)).status, 200)
  t.equal((await create(overseas, OVERSEAS_MODEL)).status, 200)
  t.equal((await create(overseas, 'ep-20260101-abcde')).status, 200, 'its region is unknown')
  t.equal(sandbox.accepted().length, 3)

  const elsewhere = await create(here, OVERSEAS_MODEL)
  t.equal(elsewhere.status, 400)
  t.match(elsewhere.json.error, {
    code: 'InvalidParameter.content',
    param: 'content[1].image_url.url',
  })
  t.equal((await create(overseas, DOMESTIC_MODEL)).status, 400)
  t.equal(sandbox.accepted().length, 3)
})

void t.test('400 for an asset that is unknown, inactive or deleted', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const group = await verifiedPerson(url)
  const deleted = await newAsset(url, group, NOW)
  await done(url, 'DeleteAsset', { Id: deleted })
  const ids = [
    'asset-20260101000000-aaaaa',
    group,
    deleted,
    await newAsset(url, group, 'sandbox stall'),
    await newAsset(url, group, `${NOW} fail=FaceMismatch`),
    await newAsset(url, group, `${NOW} gone`),
  ]
  for (const id of ids) {
    const reply = await call(url, 'POST', TASKS, using(id))
    t.equal(reply.status, 400, id)
    t.equal(reply.json.error.code, 'InvalidParameter.content')
  }
  t.same(sandbox.accepted(), [])
})

void t.test('400 for an asset used as another kind', async (t) => {
  const { url } = await sandboxFor(t)
  const group = await newGroup(url)
  const types = { image: 'Image', video: 'Video', audio: 'Audio' } as const
  for (const made of ['image', 'video', 'audio'] as const) {
    const id = await newAsset(url, group, NOW, { AssetType: types[made] })
    for (const used of ['image', 'video', 'audio'] as const) {
      const reply = await call(url, 'POST', TASKS, using(id, DOMESTIC_MODEL, used))
      t.equal(reply.status, made === used ? 200 : 400, `${made} as ${used}`)
    }
  }
})
