import * as fc from 'fast-check'
import t from 'tap'
import {
  MAX_ASKED,
  MAX_NOTES,
  noteDecider,
  type NoteCommand,
  type NotesState,
} from '../../../src/domain/note/decider.ts'
import { noteEvents, type Note } from '../../../src/domain/note/events.ts'
import { isDomainError } from '../../../src/kernel/errors.ts'
import { Value } from '@sinclair/typebox/value'
import { propertyRuns } from '../../helpers/property-runs.ts'

const START_MS = Date.parse('2026-01-02T03:00:00.000Z')
const after = (ms: number): string => new Date(START_MS + ms).toISOString()

const note = (more: Partial<Note> = {}): NoteCommand => ({
  kind: 'post',
  data: {
    tenantId: 'tenant_1',
    noteId: 'note_1',
    about: 'video_1',
    text: 'The provider was asked.',
    audience: 'operators',
    postedAt: after(0),
    ...more,
  },
})

function given(...commands: readonly NoteCommand[]): NotesState {
  return commands.reduce(
    (state, command) => noteDecider.decide(command, state).reduce(noteDecider.evolve, state),
    noteDecider.initial,
  )
}

t.test('the same note again is nothing, and its id is for no other note', (t) => {
  const state = given(note())
  const { data } = note()
  t.strictSame(noteDecider.decide(note(), noteDecider.initial), [{ type: 'NotePosted', data }])
  t.strictSame(noteDecider.decide(note({ postedAt: after(1_000) }), state), [])
  for (const other of [
    { text: 'Another text.' },
    { about: 'video_2' },
    { action: 'poll' as const },
    { audience: 'tenant' as const },
  ])
    t.throws(() => noteDecider.decide(note(other), state), {
      code: 'note_exists',
      message: 'another note has the id note_1',
    })
  t.end()
})

t.test('a text has lines of printable characters, at most a thousand', (t) => {
  for (const text of ['a', 'a\nb', '中'.repeat(1_000), `${'😀'.repeat(999)}\n`])
    t.equal(noteDecider.decide(note({ text }), noteDecider.initial).length, 1)
  for (const text of ['', ' \n ', 'a\u0000', 'a\u001b[2J', 'a\rb', 'a\u202eb', 'a'.repeat(1_001)])
    t.throws(() => noteDecider.decide(note({ text }), noteDecider.initial), {
      code: 'invalid_request',
    })
  t.end()
})

t.test('a tenant has ten thousand notes, and its state has none of their texts', (t) => {
  const text = 'x'.repeat(1_000)
  const state = Array.from({ length: MAX_NOTES }, (_, n) =>
    note({ noteId: `note_${n}`, text }),
  ).reduce(
    (before, command) => noteDecider.decide(command, before).reduce(noteDecider.evolve, before),
    noteDecider.initial,
  )
  t.throws(() => noteDecider.decide(note({ noteId: 'one more' }), state), {
    code: 'too_many_notes',
    message: 'a tenant has at most 10000 notes',
  })
  t.strictSame(noteDecider.decide(note({ noteId: 'note_7', text }), state), [], 'a retry is taken')
  t.ok(JSON.stringify(state).length < 100 * MAX_NOTES)
  t.end()
})

t.test('a provider is asked six times a minute about one task', (t) => {
  const asked = (n: number, ms: number, about = 'video_1') =>
    note({ noteId: `note_${about}_${n}`, about, action: 'poll', postedAt: after(ms) })
  const six = Array.from({ length: MAX_ASKED }, (_, n) => asked(n, n * 1_000))
  const state = given(...six)
  t.throws(() => noteDecider.decide(asked(7, 10_000), state), {
    code: 'rate_limited',
    message: /6 times within a minute about video_1: ask again in 50 s/,
    details: { retryAfterMs: 50_000 },
  })
  t.strictSame(noteDecider.decide(asked(0, 10_000), state), [], 'a retry asks for nothing more')
  t.equal(noteDecider.decide(asked(7, 10_000, 'video_2'), state).length, 1)
  t.equal(noteDecider.decide(asked(7, 60_000), state).length, 1)
  t.equal(noteDecider.decide(note({ noteId: 'only a note' }), state).length, 1)
  t.end()
})

t.test('any sequence of notes has one note an id, and never more polls than its pace', (t) => {
  const command = fc
    .record({
      noteId: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n'),
      about: fc.constantFrom('video_1', 'video_2'),
      action: fc.constantFrom('poll' as const, 'give_up' as const, undefined),
      text: fc.constantFrom('one', 'two'),
      wait: fc.nat(30_000),
    })
    .map(({ action, wait, ...data }) => ({ ...data, ...(action && { action }), wait }))
  fc.assert(
    fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
      let state = noteDecider.initial
      let now = 0
      const posted = new Map<string, Note>()
      for (const { wait, ...data } of commands) {
        now += wait
        try {
          for (const event of noteDecider.decide(note({ ...data, postedAt: after(now) }), state)) {
            if (posted.has(event.data.noteId)) throw new Error('one id, two notes')
            if (!Value.Check(noteEvents.NotePosted, event.data)) throw new Error('not persistable')
            posted.set(event.data.noteId, event.data)
            state = noteDecider.evolve(state, event)
          }
        } catch (error) {
          if (!isDomainError(error)) throw error
          const earlier = posted.get(data.noteId)
          const isOther = earlier && (earlier.text !== data.text || earlier.about !== data.about)
          if (error.code === 'note_exists' && !isOther && earlier?.action === data.action)
            throw new Error('a retry was refused', { cause: error })
        }
      }
      const times = [...posted.values()]
        .filter(({ action, about }) => action === 'poll' && about === 'video_1')
        .map(({ postedAt }) => Date.parse(postedAt))
      for (const [index, at] of times.entries()) {
        const seventh = times[index + MAX_ASKED]
        if (seventh !== undefined && seventh - at < 60_000) throw new Error('asked too often')
      }
    }),
    { numRuns: propertyRuns(500) },
  )
  t.end()
})
