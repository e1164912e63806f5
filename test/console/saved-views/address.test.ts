import t from 'tap'
import { savableAddress } from '../../../src/console/saved-views/address.ts'

const pages = new Map([
  ['/', new Set(['tenant_id', 'tz'])],
  ['/ledger/lines', new Set(['model', 'cursor', 'tz'])],
  ['/tenants/:id/activity', new Set(['user_id'])],
])

t.test(
  'an address of a page is saved with its parameters, and without the place in a list',
  (t) => {
    for (const [given, saved = given] of [
      ['/console'],
      ['/console?tz=Europe%2FBerlin'],
      [
        '/console/ledger/lines?model=text-basic&cursor=abc',
        '/console/ledger/lines?model=text-basic',
      ],
      ['/console/tenants/acme/activity?user_id=ann'],
    ] as const)
      t.equal(savableAddress(pages, given), saved)
    t.end()
  },
)

t.test('an address that is of no page, leads elsewhere or holds a secret is refused', (t) => {
  for (const [given, words] of [
    ['https://evil.example/console', /page of the console/],
    ['//evil.example/console', /page of the console/],
    ['javascript:alert(1)', /page of the console/],
    ['/console/../docs', /page of the console/],
    ['/console/sign-out', /page of the console/],
    ['/console/oidc/begin?next=/console', /page of the console/],
    ['/console/tenants//activity', /page of the console/],
    ['/console/ledger/lines?next=//evil.example', /address has next/],
    [`/console/ledger/lines?model=adm-${'x'.repeat(43)}`, /page of the console/],
    [`/console/ledger/lines?model=${'x'.repeat(1_000)}`, /at most 1000 characters/],
    ['', /page of the console/],
  ] as const)
    t.throws(() => savableAddress(pages, given), { message: words, param: 'address' }, given)
  t.end()
})
