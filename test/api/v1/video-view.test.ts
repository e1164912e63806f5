import type { Video as OfficialVideo } from 'openai/resources/videos'
import t from 'tap'
import { toVideo } from '../../../src/api/v1/videos/view.ts'
import { viewOf } from '../../../src/app/tasks/reads.ts'
import { videoRules } from '../../../src/domain/catalog/catalog.ts'
import { catalog } from '../../../src/families/index.ts'

type Shown = Parameters<typeof toVideo>[1]
type Row = Parameters<typeof viewOf>[0]
type Settings = Shown['settings']

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''
const isSeconds = (value: unknown): boolean => Number.isSafeInteger(value)
const isNull = (value: unknown): boolean => value === null

/** Every member of the official type: one that it comes to have does not compile without a line here. */
const official: { readonly [Name in keyof OfficialVideo]-?: (value: unknown) => boolean } = {
  id: isText,
  object: (value) => value === 'video',
  model: isText,
  status: (value) => ['queued', 'in_progress', 'completed', 'failed'].includes(String(value)),
  progress: isSeconds,
  created_at: isSeconds,
  completed_at: (value) => isNull(value) || isSeconds(value),
  expires_at: isNull,
  seconds: (value) => /^(?:\d+(?:\.\d+)?|auto)$/.test(String(value)),
  size: (value) => /^(?:\d+x\d+|auto)$/.test(String(value)),
  prompt: isNull,
  remixed_from_video_id: isNull,
  error: (value) => isNull(value) || isText(Reflect.get(Object(value), 'message')),
}

const offences = (video: object): readonly string[] =>
  Object.entries(official).flatMap(([name, holds]) => {
    const value: unknown = Reflect.get(video, name)
    return holds(value) ? [] : [`${name}: ${JSON.stringify(value)}`]
  })

const statuses = ['queued', 'running', 'succeeded', 'failed', 'expired', 'cancelled'] as const

/** A task as the read model has it. */
const rowOf = (family: string, model: string, more: Partial<Row>): Row =>
  ({
    family,
    model,
    platformId: 'video_01JABCDEFGHJKMNPQRSTVWXYZ0',
    nativeId: null,
    settings: {},
    output: null,
    usage: null,
    error: { code: 'x', message: 'It failed.' },
    settled: true,
    requestedAtMs: 1_795_632_597_000,
    updatedAtMs: 1_795_632_598_000,
    ...more,
  }) as Row

const shown = (row: Row) => toVideo(catalog, viewOf(row, { video_url: 'https://x.example/a' }))

t.test('a video of any family has every official member in every state, and its size', (t) => {
  const settings: readonly Settings[] = [
    {},
    { duration: 5, resolution: '720p', ratio: '16:9', aspect_ratio: '16:9' },
    { duration: -1, resolution: '480p', ratio: 'adaptive' },
  ]
  const outputs: readonly (Row['output'] | null)[] = [
    null,
    {},
    { duration: null, resolution: null, ratio: null, aspect_ratio: null },
    { duration: 5, resolution: '720p', ratio: '9:16', aspect_ratio: '9:16' },
  ]
  const lacking = new Set<string>()
  let looked = 0
  for (const { family, models } of catalog.videoFamilies)
    for (const { name } of models)
      for (const status of statuses)
        for (const asked of settings)
          for (const output of outputs) {
            const video = shown(rowOf(family, name, { status, settings: asked, output }))
            for (const one of offences(video)) lacking.add(`${name} ${status} ${one}`)
            looked += 1
          }
  t.same([...lacking], [])
  t.ok(looked > 1_000, `${looked} videos`)
  t.end()
})

t.test('seconds and size are those requested, the default, or those of the result', (t) => {
  const of = (model: string, settings: Settings, output: Row['output'] | null = null) => {
    const family = catalog.videoFamilies.find(({ resolve }) => resolve(model) !== undefined)
    const { seconds, size } = shown(
      rowOf(family?.family ?? '', model, { status: 'succeeded', settings, output }),
    )
    return `${seconds} ${size}`
  }
  const asked = { duration: 8, ratio: '16:9', resolution: '480p' }
  t.equal(of('domestic-video-2-5', asked), '8 854x480')
  const nulls = { duration: null, ratio: null, resolution: null }
  t.equal(of('domestic-video-2-5', asked, nulls), '8 854x480', 'null says nothing of them')
  t.equal(of('domestic-video-2-5', { duration: 5, ratio: '1:1' }), '5 720x720', 'by default 720p')
  const free = { duration: -1, ratio: 'adaptive' }
  t.equal(of('domestic-video-2-5', free), 'auto auto')
  const made = { duration: 7, ratio: '9:16', resolution: '720p' }
  t.equal(of('domestic-video-2-5', free, made), '7 720x1280')
  t.equal(of('h3-video', { duration: 6, ratio: '16:9', resolution: '768P' }), '6 1366x768')
  t.equal(of('clip2.0', { aspect_ratio: '16:9' }), '4 1280x720', "the model's own defaults")
  t.equal(of('clip2.0', {}), '4 auto', 'the shape of a picture is not known')
  t.end()
})

t.test('every default of a model is a member of the model’s settings', (t) => {
  for (const { family, models } of catalog.videoFamilies)
    for (const { name } of models) {
      const { settings, defaults } = videoRules(catalog, family)
      const known: readonly string[] = Object.values(settings)
      t.same(
        Object.keys(defaults(name)).filter((one) => !known.includes(one)),
        [],
        name,
      )
    }
  t.end()
})
