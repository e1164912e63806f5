import t from 'tap'
import { readSearch } from '../../../src/api/query/search.ts'
import type { Principal } from '../../../src/app/access/principal.ts'
import type { SearchResult } from '../../../src/app/support/search.ts'
import { type LifeKind, lifeKinds } from '../../../src/domain/lives.ts'

const operator: Principal = {
  kind: 'query',
  tenantId: 'tenant_1',
  userId: 'user_1',
  tokenId: 'token_1',
  models: undefined,
  addresses: undefined,
  limits: undefined,
  role: undefined,
  scope: { level: 'all_tenants' },
}

/** A search that finds one thing of a kind. */
const support = (kind: LifeKind) => ({
  search: async (): Promise<SearchResult> => ({
    items: [
      {
        kind,
        id: 'one',
        matched: 'one',
        tenantId: 'tenant_1',
        userId: undefined,
        atMs: 0,
        state: '',
        summary: '',
      },
    ],
    more: false,
    hints: [],
  }),
})

t.test('each kind of life that a search finds has a path, a command and a page', async (t) => {
  t.ok(lifeKinds.length >= 8, `${lifeKinds.length} kinds`)
  for (const kind of lifeKinds) {
    const { items } = await readSearch(support(kind), operator, { q: 'one' })
    t.match(items[0]?.path, /^\/api\/query\/v1\/(lives\/one|(tasks|assets)\/one\/history)$/, kind)
    t.equal(items[0]?.command, 'tollgate replay one', kind)
  }
})
