import { createInterface } from 'node:readline'
import t from 'tap'
import type { TextFamily } from '../../families/text/wires.ts'
import { createEventLog } from '../../../src/eventlog/log/client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { newNamespace } from '../../helpers/eventstore.ts'
import { isLong } from '../../helpers/long-run.ts'
import { noCrash } from '../../../src/app/crash-points.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { cloneIn, mediaOf, sampleIn } from './support/media.ts'
import { mortal } from '../support/mortality.ts'
import { startTextWorld, unitsOf } from './support/text-world.ts'

const CHILD = new URL('support/crash-child.ts', import.meta.url)
const CLONING = new URL('support/clone-child.ts', import.meta.url)
const world = await startTextWorld(t)
const namespace = newNamespace()
const log = createEventLog({ url: world.store.url, namespace })
t.teardown(() => log.close())
let marks = 0

/** Makes one call in a child process and kills it at a point, or after so many frames. */
async function die(wish: {
  readonly family: TextFamily
  readonly streamed: boolean
  readonly crashAt?: string
  readonly killAfter?: number
}) {
  const marker = `crash-${(marks += 1)}`
  const { family, streamed, crashAt = '' } = wish
  const prompt = `[[sandbox words=20 frame-ms=3]] [[client=${marker}]]`
  const child = mortal(world, namespace, CHILD, { crashAt, family, streamed, prompt })
  const seen: { readonly frame?: string; readonly ended?: boolean }[] = []
  for await (const line of createInterface({ input: child.output })) {
    seen.push(JSON.parse(line) as { frame?: string })
    if (seen.length === wish.killAfter) child.kill()
  }
  const signal = await child.ended
  const [accepted] = await world.accepted(marker)
  const settled = []
  for await (const event of log.readAll())
    if (event.type === 'CallSettled' && accepted !== undefined) settled.push(event.data)
  return { signal, seen, accepted, settled }
}

const END = /"finish_reason":"|"finishReason":|"type":"response.completed"|"stop_reason":"/
const isWhole = (seen: readonly { readonly frame?: string; readonly ended?: boolean }[]) =>
  seen.some(({ frame, ended }) => ended === true || END.test(frame ?? ''))

t.test('a process killed between provider and journal delivers and bills nothing', async (t) => {
  const all = ['call.after-provider', 'call.before-append'].flatMap((crashAt, at) =>
    (['chat', 'messages'] as const).flatMap((family, of) =>
      [false, true].map((streamed, as) => ({
        crashAt,
        family,
        streamed,
        half: (at + of + as) % 2,
      })),
    ),
  )
  // Half of them have each two of point, family and form once.
  for (const { half, ...wish } of all) {
    if (half === 1 && !isLong) continue
    const { signal, seen, accepted, settled } = await die(wish)
    t.equal(signal, 'SIGKILL')
    t.ok(accepted, `${wish.family} ${wish.crashAt}: the provider was asked`)
    t.equal(isWhole(seen), false)
    t.same(settled, [], 'what was not delivered whole is our loss, not the caller’s')
  }
})

t.test('a process killed between journal and delivery has billed exactly once', async (t) => {
  const lives = [
    { family: 'responses', streamed: true },
    { family: 'messages', streamed: true },
    { family: 'messages', streamed: false },
  ] as const
  for (const [before, life] of lives.entries()) {
    const { seen, accepted, settled } = await die({ ...life, crashAt: 'call.after-append' })
    t.equal(isWhole(seen), false)
    t.equal(settled.length, before + 1)
    t.same(settled[before]?.usage, accepted && unitsOf(accepted), life.family)
  }
})

t.test('a process killed in the midst of a stream has not delivered its end', async (t) => {
  for (const family of ['native', 'messages'] as const) {
    const { seen, settled } = await die({ family, streamed: true, killAfter: 4 })
    t.equal(isWhole(seen), false)
    t.equal(settled.length, 3, 'nothing was added')
  }
})

/** Where a process that clones a voice dies, and what the log has of it then. */
const deaths = [
  { at: 'upload.after-provider', upstream: 0, events: [] },
  { at: 'before upstream answers', upstream: 1, events: ['MediaUploaded'] },
  { at: 'call.after-provider', upstream: 1, events: ['MediaUploaded'] },
  { at: 'call.before-append', upstream: 1, events: ['MediaUploaded', 'VoiceCloned'] },
  { at: 'call.after-append', upstream: 1, events: ['MediaUploaded', 'VoiceCloned', 'CallSettled'] },
] as const

t.test(
  'a process killed around a clone bills it once or never, and leaves its name usable',
  async (t) => {
    for (const [n, { at, upstream, events }] of deaths.entries()) {
      const marker = `clone-${n}`
      const hangs = at === 'before upstream answers'
      const voiceId = `Killed-Voice-${n}`
      const before = (await everything()).length
      const child = mortal(world, namespace, CLONING, {
        crashAt: hangs ? '' : at,
        voiceId,
        text: `hi ${hangs ? '[[sandbox hang-after-accept]]' : ''} [[client=${marker}]]`,
      })
      child.output.resume()
      if (hangs) {
        await eventually('upstream has it', async () => (await world.accepted(marker))[0])
        child.kill()
      }
      t.equal(await child.ended, 'SIGKILL', at)
      t.equal((await world.accepted(marker)).length, upstream, `${at}: what upstream has of it`)
      const left = (await everything()).slice(before).map(({ type }) => type)
      t.same(left, events, `${at}: what the log has of it`)

      const media = mediaOf({
        pool: world.pool,
        log,
        sandboxUrl: world.sandbox.url,
        crashPoint: noCrash,
      })
      const again = await cloneIn(media, await sampleIn(media), voiceId, 'hi').then(
        ({ settlement }) => settlement.lines.map(({ sku }) => sku),
        (error: unknown) => Reflect.get(Object(error), 'details') as unknown,
      )
      await media.stop()
      const isThere = events.some((type) => type === 'VoiceCloned')
      if (isThere) t.match(again, { upstreamCode: '2039' }, `${at}: the voice is there`)
      else t.same(again, ['voice-clone', 'speech-2.8-hd-character'], `${at}: it is cloned anew`)
      const written = (await everything()).slice(before)
      const settled = written.filter(({ type }) => type === 'CallSettled').length
      t.equal(settled, isThere && at !== 'call.after-append' ? 0 : 1, `${at}: billed`)
      t.equal(written.filter(({ type }) => type === 'VoiceCloned').length, 1)
    }
  },
)

async function everything(): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = []
  for await (const event of log.readAll()) events.push(event)
  return events
}
