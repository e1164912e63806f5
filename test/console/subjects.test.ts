import t from 'tap'
import type { Principal } from '../../src/app/access/principal.ts'
import { renderPage } from '../../src/console/kit/layout.tsx'
import type { ConsoleServices } from '../../src/console/page.tsx'
import { placesFor, type Subject } from '../../src/console/subject.ts'
import { subjects } from '../../src/console/surface.tsx'

/** The head of the console has the places of its subjects, and knows none of them by name. */

const operator: Principal = {
  tokenId: 'token_1',
  tenantId: 'ten_1',
  userId: 'usr_1',
  kind: 'admin',
  models: undefined,
  addresses: undefined,
  limits: undefined,
  scope: undefined,
  role: undefined,
}

/** A subject that the console does not have. */
const added: Subject = {
  place: {
    href: '/console/a-new-one',
    name: 'New',
    below: ['/console/a-new-one/'],
    isShownTo: ({ role }) => role !== 'support',
  },
  register: () => undefined,
}

/** Nothing is read: a count that cannot be read is left out. */
const noServices = {
  operations: { attention: () => ({ reasons: [], paused: [] }) },
} as unknown as ConsoleServices

async function headFor(token: Principal, path: string): Promise<string> {
  return renderPage({
    title: 'A page',
    path,
    reader: {
      tokenName: 'a token',
      lastFour: 'abcd',
      sees: 'all tenants',
      role: 'operator',
      savesViews: true,
      places: await placesFor([...subjects, added], noServices, token, false),
    },
    children: '',
  })
}

const namesIn = (page: string): readonly string[] =>
  [
    ...(/<nav.*?<\/nav>/.exec(page)?.[0] ?? '').matchAll(
      /<a href="[^"]+"(?: aria-current="\w+")?>([^<]+)<\/a>/g,
    ),
  ].map(([, name = '']) => name)

t.test('a subject that is added to the list has its place in the head', async (t) => {
  const own = [
    'Overview',
    'Ledger',
    'Months',
    'Failed',
    'Proposals',
    'Changes',
    'Tenants',
    'Operations',
  ]
  t.same(namesIn(await headFor(operator, '/console')), [...own, 'New', 'API'])
  t.match(
    await headFor(operator, '/console/a-new-one/2026-10'),
    '<a href="/console/a-new-one" aria-current="true">New</a>',
    'it is current on the pages below it',
  )
})

t.test('each token sees the places of its kind and role', async (t) => {
  const namesFor = async (token: Partial<Principal>) => {
    const places = await placesFor(
      [...subjects, added],
      noServices,
      { ...operator, ...token },
      false,
    )
    return places.map(({ name }) => name)
  }
  const of = (kind: Principal['kind'], role?: Principal['role']) => namesFor({ kind, role })
  t.same(await of('query'), ['Overview', 'Ledger', 'Months', 'Failed', 'New'])
  t.same(await of('query', 'support'), ['Overview', 'Failed'])
  const administered = [
    'Overview',
    'Ledger',
    'Months',
    'Failed',
    'Proposals',
    'Changes',
    'Tenants',
    'New',
  ]
  t.same(await of('admin', 'finance'), administered)
  t.same(await namesFor({ scope: { level: 'all_users' } }), administered)
})

t.test('a page of prices is below the ledger, and one of a token below the tenants', async (t) => {
  const currentAt = async (path: string) =>
    /aria-current="true">([^<]+)</.exec(await headFor(operator, path))?.[1]
  t.equal(await currentAt('/console/prices/2026-01'), 'Ledger')
  t.equal(await currentAt('/console/ledger/summary'), 'Ledger')
  t.equal(await currentAt('/console/tokens/token_1'), 'Tenants')
  t.equal(await currentAt('/console/tenants/ten_1'), 'Tenants')
  t.equal(await currentAt('/console/life/call_1'), undefined)
})

t.test(
  'a place says how much waits there, and a count that cannot be read is left out',
  async (t) => {
    const of = (waitingFor: () => Promise<string | undefined>): Subject => ({
      ...added,
      place: { href: '/console/a', name: 'Waiting', isShownTo: () => true, waitingFor },
    })
    const places = await placesFor(
      [
        of(() => Promise.resolve('3')),
        of(() => Promise.reject(new Error('the database is away'))),
        of(() => Promise.resolve(undefined)),
      ],
      noServices,
      operator,
      false,
    )
    t.same(
      places.map(({ waiting }) => waiting),
      ['3', undefined, undefined],
    )
    const [recalled] = await placesFor([of(() => Promise.resolve('3'))], noServices, operator, true)
    t.equal(recalled?.waiting, undefined, 'a session that is only recalled reads no counts')
  },
)
