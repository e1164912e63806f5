import * as fc from 'fast-check'
import t from 'tap'
import {
  type Bounds,
  inheritedBounds,
  requireWithin,
  widerBounds,
} from '../../../src/domain/token/bounds.ts'
import { tokenRoles } from '../../../src/domain/token/events.ts'
import { isDomainError } from '../../../src/kernel/errors.ts'
import { propertyRuns } from '../../helpers/property-runs.ts'

const some = <T>(items: readonly T[]) => fc.subarray([...items], { minLength: 1 })
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const limit = fc.constantFrom(1, 60, 1_000, null, undefined)

/** Bounds of few values, so that many lie within each other. */
const bounds: fc.Arbitrary<Bounds> = fc.record({
  models: optional(some(['a', 'b', 'c'])),
  addresses: optional(some(['203.0.113.0/24', '203.0.113.7', '198.51.100.0/24', '2001:db8::/32'])),
  expiresAt: optional(fc.constantFrom('2027-01-01T00:00:00Z', '2027-06-01T00:00:00Z')),
  role: optional(fc.constantFrom('finance', 'support')),
  limits: fc
    .record({ requestsPerMinute: limit, concurrentTasks: limit })
    .map((limits) => JSON.parse(JSON.stringify(limits)) as Bounds['limits']),
})

/** The test tries a model, an address, a time and a rate of a token, each for a role. */
const uses = ['a', 'b', 'c'].flatMap((model) =>
  ['203.0.113.7', '203.0.113.9', '198.51.100.1', '2001:db8::1', '192.0.2.1'].flatMap((address) =>
    ['2026-12-31', '2027-05-31', '2028-01-01'].flatMap((day) =>
      [1, 2, 61, 1_001].flatMap((rate) =>
        tokenRoles.map((role) => ({ model, address, at: `${day}T00:00:00Z`, rate, role })),
      ),
    ),
  ),
)

const isWithin = (outer: Bounds, inner: Bounds): boolean => {
  try {
    requireWithin(outer, inner, { words: 'is wider' })
    return true
  } catch (error) {
    if (isDomainError(error, 'scope_denied')) return false
    throw error
  }
}

const allows = (token: Bounds, use: (typeof uses)[number]): boolean =>
  (token.models?.includes(use.model) ?? true) &&
  (token.role === undefined || token.role === use.role) &&
  isWithin(
    { ...token, models: undefined, role: undefined },
    {
      models: undefined,
      addresses: [use.address],
      expiresAt: use.at,
      limits: { requestsPerMinute: use.rate, concurrentTasks: 1 },
    },
  )

t.test('bounds within a token’s bounds allow no further use', async (t) => {
  let compared = 0
  fc.assert(
    fc.property(bounds, bounds, (outer, inner) => {
      if (!isWithin(outer, inner)) return
      compared += 1
      for (const use of uses)
        if (allows(inner, use) && !allows(outer, use)) throw new Error(JSON.stringify(use))
    }),
    { numRuns: propertyRuns(200) },
  )
  t.ok(compared > 0)
})

t.test('bounds left open by a request are inherited, and always within', async (t) => {
  fc.assert(
    fc.property(bounds, bounds, (issuer, other) => {
      if (!isWithin(issuer, inheritedBounds(issuer, {}))) throw new Error('wider than its issuer')
      const both = { ...widerBounds(issuer, other), role: undefined }
      if (!isWithin(both, issuer) || !isWithin(both, other)) throw new Error('not the wider')
    }),
    { numRuns: propertyRuns(200) },
  )
  const issuer: Bounds = {
    models: ['a', 'b'],
    addresses: ['203.0.113.0/24'],
    expiresAt: '2027-01-01T00:00:00Z',
    limits: { requestsPerMinute: 60, concurrentTasks: 2 },
    role: 'finance',
  }
  const asked = { models: ['a'], limits: { concurrentTasks: 1 } }
  t.same(inheritedBounds(issuer, asked), {
    ...issuer,
    models: ['a'],
    limits: { requestsPerMinute: 60, concurrentTasks: 1 },
  })
  for (const [member, wide] of [
    ['models', { models: null }],
    ['models', { models: ['a', 'c'] }],
    ['addresses', { addresses: null }],
    ['addresses', { addresses: ['203.0.112.0/23'] }],
    ['expires_at', { expiresAt: null }],
    ['expires_at', { expiresAt: '2027-01-01T00:00:01Z' }],
    ['limits', { limits: { requestsPerMinute: null } }],
    ['limits', { limits: { requestsPerMinute: 61 } }],
    ['limits', { limits: { concurrentTasks: 3 } }],
    ['role', { role: 'support' }],
  ] as const)
    t.throws(
      () => requireWithin(issuer, inheritedBounds(issuer, wide), { words: 'is wider' }),
      { code: 'scope_denied', details: { param: member } },
      JSON.stringify(wide),
    )
})
