import * as fc from 'fast-check'
import t, { type Test } from 'tap'
import {
  assetDecider,
  type AssetCommand,
  type AssetState,
} from '../../../src/domain/asset/decider.ts'
import type { AssetEvent } from '../../../src/domain/asset/events.ts'
import { isDomainError } from '../../../src/kernel/errors.ts'
import {
  accept,
  active,
  actor,
  confirmDeleted,
  create,
  createGeneral,
  find,
  refuse,
  rename,
  seeActive,
  seeFailed,
  use,
  withdraw,
} from './assets.ts'

/** Whatever anybody asks and whatever upstream says, in whatever order: what its events may never say. */

const others = [actor({ userId: 'user_2' }), actor({ tenantId: 'tenant_2', userId: 'user_1' })]
const commands: readonly AssetCommand[] = [
  create,
  createGeneral,
  accept,
  find,
  refuse,
  seeActive,
  seeFailed,
  confirmDeleted,
  use(),
  use(actor({ requestId: 'req_2' })),
  withdraw(),
  rename('one'),
  rename('two'),
  ...others.flatMap((by) => [use(by), withdraw(by), rename('theirs', by)]),
]

interface Step {
  readonly command: AssetCommand
  readonly events: readonly AssetEvent[]
  /** Why it was refused. */
  readonly code: string | undefined
}

function run(asked: readonly AssetCommand[]): readonly Step[] {
  let state: AssetState = assetDecider.initial
  return asked.map((command) => {
    try {
      const events = assetDecider.decide(command, state)
      state = events.reduce(assetDecider.evolve, state)
      return { command, events, code: undefined }
    } catch (error) {
      if (!isDomainError(error)) throw error
      return { command, events: [], code: error.code }
    }
  })
}

/** Most begin as lives do; what comes before is rarer. */
const histories = fc
  .tuple(
    fc.constantFrom<readonly AssetCommand[]>([], [create], [create, accept], active, [
      createGeneral,
    ]),
    fc.array(fc.constantFrom(...commands), { minLength: 5, maxLength: 60 }),
  )
  .map(([first, others]) => [...first, ...others])
const typesOf = (steps: readonly Step[]): readonly AssetEvent['type'][] =>
  steps.flatMap(({ events }) => events.map(({ type }) => type))

/** Holds of whatever a run of commands decided to, and counts how often it had something to say. */
function always(t: Test, holds: (steps: readonly Step[]) => boolean, atLeast: number): void {
  let said = 0
  fc.assert(
    fc.property(histories, (asked) => {
      if (holds(run(asked))) said += 1
    }),
    { numRuns: 3_000, seed: 429 },
  )
  t.ok(said >= atLeast, `${said} of 3000`)
  t.end()
}

function demand(condition: boolean, what: string, steps: readonly Step[]): void {
  if (!condition) throw new Error(`${what}: ${typesOf(steps).join(', ')}`)
}

t.test('no event follows a deletion or precedes the creation', (t) => {
  always(
    t,
    (steps) => {
      const types = typesOf(steps)
      demand(types.length === 0 || types[0] === 'AssetCreated', 'it begins otherwise', steps)
      const end = types.indexOf('AssetDeleted')
      demand(end < 0 || end === types.length - 1, 'it goes on', steps)
      return end >= 0
    },
    300,
  )
})

t.test('a withdrawn asset is not used, changed or activated', (t) => {
  always(
    t,
    (steps) => {
      const types = typesOf(steps)
      const at = types.indexOf('AssetWithdrawn')
      if (at < 0) return false
      for (const type of types.slice(at + 1))
        demand(type === 'AssetAccepted' || type === 'AssetDeleted', type, steps)
      return true
    },
    1_000,
  )
})

t.test('each step is recorded at most once, whatever is repeated or late', (t) => {
  const once = ['AssetCreated', 'AssetAccepted', 'AssetWithdrawn', 'AssetDeleted'] as const
  const ends = ['AssetRefused', 'AssetActivated', 'AssetFailed'] as const
  always(
    t,
    (steps) => {
      const types = typesOf(steps)
      for (const type of once)
        demand(types.filter((each) => each === type).length <= 1, `${type} twice`, steps)
      const ended = types.filter((each) => ends.some((end) => end === each))
      demand(ended.length <= 1, 'two ends', steps)
      return ended.length === 1
    },
    1_000,
  )
})

t.test(
  'a use is recorded only while an asset is active: the first of use and withdrawal wins',
  (t) => {
    always(
      t,
      (steps) => {
        let isActive = false
        let isOfPerson = false
        let uses = 0
        for (const { command, events, code } of steps) {
          if (command.kind === 'use' && !others.includes(command.by)) {
            demand((code === undefined) === isActive, `a use gave ${code}`, steps)
            demand(events.length === (isActive && isOfPerson ? 1 : 0), 'a use is not said', steps)
            uses += isActive ? 1 : 0
          }
          for (const { type, data } of events) {
            if (type === 'AssetCreated') isOfPerson = data.groupType === 'LivenessFace'
            if (type === 'AssetActivated') isActive = true
            if (type === 'AssetWithdrawn') isActive = false
          }
        }
        return uses > 0
      },
      300,
    )
  },
)

t.test('an asset of a person is answered as unknown to every other user', (t) => {
  always(
    t,
    (steps) => {
      const [first] = steps.flatMap(({ events }) => events)
      const isOfPerson = first?.type === 'AssetCreated' && first.data.groupType === 'LivenessFace'
      const theirs = steps.filter(({ command }) => 'by' in command && others.includes(command.by))
      for (const { command, events, code } of theirs) {
        const isForeign = 'by' in command && command.by.tenantId !== 'tenant_1'
        if (!isOfPerson && !isForeign) continue
        demand(events.length === 0 && code === 'asset_not_found', `${code}`, steps)
      }
      return isOfPerson && theirs.length > 0
    },
    1_000,
  )
})
