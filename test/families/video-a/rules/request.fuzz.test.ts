import { Value } from '@sinclair/typebox/value'
import * as fc from 'fast-check'
import t from 'tap'
import { videoAModels } from '../../../../src/families/video-a/rules/models.ts'
import { TaskFactsSchema } from '../../../../src/domain/task/events.ts'
import { isDomainError } from '../../../../src/kernel/errors.ts'
import { acceptBody, audio, image, prompt, video } from './requests.ts'

const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>(null, true, 0, -1, 1.5, 2 ** 53, 1e308, '', '\u0000', '\uD800', [], {}),
  fc.constantFrom<unknown>(
    JSON.parse('{"__proto__":{"url":"x"}}'),
    JSON.parse('[{"__proto__":1}]'),
  ),
)
const item = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<unknown>(prompt, video(), audio(), image()) },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom('first_frame', 'last_frame', 'reference_image')
      .map((role): unknown => image(role)),
  },
  { weight: 1, arbitrary: anything },
)
const mostly = (good: readonly unknown[]): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...good) }, { weight: 1, arbitrary: anything })
const names = videoAModels.flatMap((model) => [model.name, ...model.aliases])

const optional = {
  ratio: mostly(['adaptive', '16:9']),
  resolution: mostly(['480p', '720p', '1080p', '4k']),
  generate_audio: mostly([true, false]),
  priority: mostly([0, 9]),
  execution_expires_after: mostly([3_600]),
  service_tier: mostly(['default', 'flex']),
  draft: mostly([false, true]),
  output_format: mostly(['mp4', 'mov']),
  tools: mostly([[], [{ type: 'web_search' }]]),
  references: mostly([{}, { audio: ['https://x.test/a.mp3'] }]),
  callback_url: mostly(['https://x.test/']),
  CallbackURL: mostly(['https://y.test/']),
  safety_identifier: mostly(['user']),
  seed: anything,
}

/** A few optional fields at a time: with all of them hardly any body would be acceptable. */
const body = fc
  .tuple(
    fc.record({
      model: mostly(names),
      content: fc.oneof(
        { weight: 6, arbitrary: fc.array(item, { maxLength: 4 }).map((items): unknown => items) },
        { weight: 1, arbitrary: anything },
      ),
      duration: mostly([-1, 4, 5, 15]),
    }),
    fc.record(optional),
    fc.subarray(Object.keys(optional) as (keyof typeof optional)[], { maxLength: 3 }),
  )
  .map(([required, values, chosen]): Readonly<Record<string, unknown>> => ({
    ...required,
    ...Object.fromEntries(chosen.map((name) => [name, values[name]])),
  }))

const known = new Set([
  'content',
  'duration',
  'ratio',
  'resolution',
  'generate_audio',
  'priority',
  'execution_expires_after',
  'service_tier',
  'draft',
  'output_format',
  'tools',
  'callback_url',
  'seed',
])

/** Either a refusal that names a field, or facts that fit the persisted schema. */
function isSound(body: Readonly<Record<string, unknown>>): 'accepted' | 'refused' | 'broken' {
  try {
    const { facts, upstreamBody } = acceptBody(body)
    const sound =
      Value.Check(TaskFactsSchema, facts) &&
      Object.keys(upstreamBody).every((name) => known.has(name)) &&
      !/"(?:__proto__|constructor)"|\\u0000|\\ud[89a-f]/i.test(JSON.stringify(upstreamBody))
    return sound ? 'accepted' : 'broken'
  } catch (error) {
    if (!isDomainError(error)) throw error
    const { param } = error.details
    const named = typeof param === 'string' && param !== '' && error.message.length > 10
    return named && /^invalid_(?:request|duration)$/.test(error.code) ? 'refused' : 'broken'
  }
}

t.test('any body is accepted soundly or refused by naming a field', async (t) => {
  const seen = { accepted: 0, refused: 0, broken: 0 }
  fc.assert(
    fc.property(body, (body) => {
      const outcome = isSound(body)
      seen[outcome] += 1
      return outcome !== 'broken'
    }),
    { numRuns: 4_000 },
  )
  t.ok(seen.accepted > 200, `accepted ${seen.accepted}`)
  t.ok(seen.refused > 1_000, `refused ${seen.refused}`)
})

t.test('wholly arbitrary objects are refused by naming a field', async (t) => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), anything), (body) => isSound(body) === 'refused'),
    { numRuns: 1_000 },
  )
  t.pass('1000 objects')
})
