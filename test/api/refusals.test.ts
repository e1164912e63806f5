import { readFileSync, writeFileSync } from 'node:fs'
import pino from 'pino'
import t from 'tap'
import type { JsonObject } from '../../src/kernel/json.ts'
import { answered } from './support/memory-calls.ts'
import { asModel, startApp } from './support/app.ts'
import { type Creation, creations } from './support/creations.ts'
import { oddBodies } from './support/odd-bodies.ts'

/**
 * What each creation refuses, in which words: bodies with one fault each, and what is answered to them.
 *
 * The lists in `test/fixtures/refusals` are written anew with `RECORD_REFUSALS=1`; their difference is what changed for
 * callers.
 */

// Twenty thousand requests.
t.setTimeout(180_000)

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

/** A line for each member and answer, with what was done to the member. */
async function refusalsOf({ path, bodies }: Creation): Promise<string> {
  const changes = new Map<string, string[]>()
  for (const [index, body] of bodies.entries())
    for (const odd of oddBodies(body)) {
      const key = `${index}.${odd.member}\n  ${await answerTo(path, odd.body)}`
      const known = changes.get(key) ?? []
      changes.set(key, known)
      known.push(odd.change)
    }
  return [...changes].map(([key, done]) => `${key}\n    ${done.join(' | ')}\n`).join('')
}

const recorded = (name: string): URL => new URL(`../fixtures/refusals/${name}.txt`, import.meta.url)

for (const [name, creation] of Object.entries(creations))
  t.test(`${name}: refusals are as recorded`, async (t) => {
    for (const body of creation.bodies) t.equal(await answerTo(creation.path, body), 'taken')
    const refusals = await refusalsOf(creation)
    if (process.env['RECORD_REFUSALS'] === '1') writeFileSync(recorded(name), refusals)
    const [before, now] = [readFileSync(recorded(name), 'utf8'), refusals].map((all) =>
      all.split('\n'),
    )
    t.same(now, before)
  })
