import { readFileSync, writeFileSync } from 'node:fs'
import pino from 'pino'
import t from 'tap'
import type { JsonObject } from '../../src/kernel/json.ts'
import { answered } from './support/memory-calls.ts'
import { asModel, startApp } from './support/app.ts'
import { type Creation, creations } from './support/creations.ts'
import { atLength } from '../helpers/long-run.ts'
import { oddBodies } from './support/odd-bodies.ts'

/**
 * What each creation refuses, in which words: bodies with one fault each, and what is answered to them.
 *
 * The lists in `test/fixtures/refusals` are written again with `RECORD_REFUSALS=1`; their difference is what changed for
 * callers.
 */

// Twenty thousand requests.
t.setTimeout(1_200_000)

const { app, hosts } = await startApp({
  logger: pino({ level: 'silent' }),
  images: {
    tasks: {
      create: () =>
        Promise.resolve({
          platformId: 'image_1',
          nativeId: 'image_1',
          replayed: false,
          createdAtMs: 0,
        }),
      get: () => Promise.reject(new Error('is not asked for')),
      quote: answered,
    },
  },
})
hosts.set('media.example.com', ['93.184.216.34'])
t.teardown(() => app.close())

/** An answer without what differs each time; `taken` where nothing is refused. */
async function answerTo(path: string, body: JsonObject): Promise<string> {
  const response = await app.inject({ method: 'POST', url: path, headers: asModel, payload: body })
  const refused = response.statusCode >= 400 || /"status_code":[1-9]/.test(response.body)
  if (!refused) return 'taken'
  const words = response.body.replaceAll(/\b(?:req_)?[0-9A-HJKMNP-TV-Z]{26}\b/g, '…')
  return `${response.statusCode} ${words}`
}

const isRecording = process.env['RECORD_REFUSALS'] === '1'
/** In short one odd body of so many is sent, never the same changes of every member. */
const ONE_OF = isRecording ? 1 : atLength(3, 1)

/** The answers to the odd bodies of a creation, by member and by what was done to it; undefined where it was not sent. */
async function answersOf({ path, bodies }: Creation): Promise<Map<string, string | undefined>> {
  const answers = new Map<string, string | undefined>()
  for (const [index, body] of bodies.entries())
    for (const odd of oddBodies(body)) {
      const isSent = answers.size % ONE_OF === 0
      const answer = isSent ? await answerTo(path, odd.body) : undefined
      answers.set(`${index}.${odd.member}\n${odd.change}`, answer)
    }
  return answers
}

/** A list as it is kept: each member with each of its answers, and what was done for it. */
function written(answers: ReadonlyMap<string, string | undefined>): string {
  const changes = new Map<string, string[]>()
  for (const [key, answer] of answers) {
    const [member = '', change = ''] = key.split('\n')
    const kept = `${member}\n  ${answer}`
    const known = changes.get(kept) ?? []
    changes.set(kept, known)
    known.push(change)
  }
  return [...changes].map(([key, done]) => `${key}\n    ${done.join(' | ')}\n`).join('')
}

/** The answers of a list that was written. */
function readAnswers(list: string): Map<string, string> {
  const entries = [...list.matchAll(/^(\S+)\n {2}(.+)\n {4}(.+)$/gm)]
  return new Map(
    entries.flatMap(([, member = '', answer = '', changes = '']) =>
      changes.split(' | ').map((change) => [`${member}\n${change}`, answer] as const),
    ),
  )
}

const recorded = (name: string): URL => new URL(`../fixtures/refusals/${name}.txt`, import.meta.url)

for (const [name, creation] of Object.entries(creations))
  t.test(`${name}: refusals are as recorded`, async (t) => {
    for (const body of creation.bodies) t.equal(await answerTo(creation.path, body), 'taken')
    const answers = await answersOf(creation)
    if (isRecording) writeFileSync(recorded(name), written(answers))
    const known = readAnswers(readFileSync(recorded(name), 'utf8'))
    t.same([...answers.keys()].sort(), [...known.keys()].sort(), 'each odd body is in the list')
    const sent = [...answers].filter(([, answer]) => answer !== undefined)
    t.ok(sent.length * ONE_OF >= answers.size, `${sent.length} of ${answers.size} were sent`)
    t.same(
      sent,
      sent.map(([key]) => [key, known.get(key)]),
    )
  })
