import t from 'tap'
import type { Principal } from '../../src/app/access/principal.ts'
import { renderPage } from '../../src/console/kit/layout.tsx'
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

function headFor(token: Principal, path: string): string {
  return renderPage({
    title: 'A page',
    path,
    reader: {
      tokenName: 'a token',
      lastFour: 'abcd',
      sees: 'all tenants',
      role: 'operator',
      places: placesFor([...subjects, added], token),
    },
    children: '',
  })
}

const namesIn = (page: string): readonly string[] =>
  [...page.matchAll(/<a href="[^"]+"(?: aria-current="\w+")?>([^<]+)<\/a>/g)].map(
    ([, name = '']) => name,
  )

t.test('a subject that is added to the list has its place in the head', (t) => {
  const own = ['Overview', 'Ledger', 'Months', 'Failed', 'Proposals', 'Tenants', 'Operations']
  t.same(namesIn(headFor(operator, '/console')), [...own, 'New', 'API'])
  t.match(
    headFor(operator, '/console/a-new-one/2026-10'),
    '<a href="/console/a-new-one" aria-current="true">New</a>',
    'it is current on the pages below it',
  )
  t.end()
})

t.test('each token sees the places of its kind and role', (t) => {
  const namesFor = (token: Partial<Principal>) =>
    placesFor([...subjects, added], { ...operator, ...token }).map(({ name }) => name)
  const of = (kind: Principal['kind'], role?: Principal['role']) => namesFor({ kind, role })
  t.same(of('query'), ['Overview', 'Ledger', 'Months', 'Failed', 'New'])
  t.same(of('query', 'support'), ['Overview', 'Failed'])
  const administered = ['Overview', 'Ledger', 'Months', 'Failed', 'Proposals', 'Tenants', 'New']
  t.same(of('admin', 'finance'), administered)
  t.same(namesFor({ scope: { level: 'all_users' } }), administered)
  t.end()
})

t.test('a page of prices is below the ledger, and one of a token below the tenants', (t) => {
  const currentAt = (path: string) =>
    /aria-current="true">([^<]+)</.exec(headFor(operator, path))?.[1]
  t.equal(currentAt('/console/prices/2026-01'), 'Ledger')
  t.equal(currentAt('/console/ledger/summary'), 'Ledger')
  t.equal(currentAt('/console/tokens/token_1'), 'Tenants')
  t.equal(currentAt('/console/tenants/ten_1'), 'Tenants')
  t.equal(currentAt('/console/life/call_1'), undefined)
  t.end()
})
