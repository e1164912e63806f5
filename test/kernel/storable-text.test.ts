import * as fc from 'fast-check'
import t from 'tap'
import { isStorable, toStorable } from '../../src/kernel/storable-text.ts'
import { character } from '../helpers/characters.ts'

t.test('NUL and lone surrogates are not storable, other characters are', async (t) => {
  for (const text of ['', 'plain', 'déjà vu', '日本語', '😀', '\u0001\n\t', '\uFFFD'])
    t.ok(isStorable(text), JSON.stringify(text))
  for (const text of ['\u0000', 'a\u0000b', '\uD83D', '\uDE00', 'x\uDE00\uD83Dy'])
    t.notOk(isStorable(text), JSON.stringify(text))
})

t.test('any string becomes storable, bounded, and unchanged where it already was', async (t) => {
  fc.assert(
    fc.property(fc.string({ unit: character }), fc.nat(40), (text, limit) => {
      const stored = toStorable(text, limit)
      if (!isStorable(stored) || stored.length > limit) return false
      return !isStorable(text.slice(0, limit)) || stored === text.slice(0, limit)
    }),
    { numRuns: 2_000 },
  )
  t.equal(toStorable('a\u0000b\uD83D', 10), 'a\uFFFDb\uFFFD')
  t.equal(toStorable('😀', 1), '\uFFFD', 'cutting a pair in half leaves no half')
})
