import t from 'tap'
import { isTrustedTarget, readTrustedTarget } from '../../src/kernel/trusted-targets.ts'

t.test('an entry names a path or a tenant', async (t) => {
  t.same(readTrustedTarget('http://alerts.internal:8080/low'), {
    tenantId: undefined,
    origin: 'http://alerts.internal:8080',
    path: '/low',
  })
  t.same(readTrustedTarget('acme=https://alerts.internal'), {
    tenantId: 'acme',
    origin: 'https://alerts.internal',
    path: '/',
  })
  for (const bad of [
    'http://alerts.internal:8080',
    'alerts.internal/low',
    'ftp://alerts.internal/low',
    'http://Alerts.internal/low',
    'http://alerts.internal:80/low',
    'http://user@alerts.internal/low',
    'http://alerts.internal/low?a=b',
    'http://alerts.internal/low#a',
    'http://alerts.internal/a/../low',
    'http://alerts.internal/a%2flow',
    'a b=http://alerts.internal/low',
    '=http://alerts.internal/low',
    '',
  ])
    t.equal(readTrustedTarget(bad), undefined, bad)
})

t.test('a webhook is unchecked only where its tenant and path are named', async (t) => {
  const targets = [
    'http://inside:8080/low',
    'http://inside:8080/hooks/',
    'acme=http://own:8080',
    'acme=http://both:8080/low',
  ].map((text) => readTrustedTarget(text)!)
  const mayGo = (tenantId: string, url: string): boolean => isTrustedTarget(targets, tenantId, url)
  for (const url of [
    'http://inside:8080/low',
    'http://inside:8080/low?of=tollgate',
    'http://inside:8080/hooks/a/b',
  ])
    t.ok(mayGo('other', url), url)
  for (const url of ['http://own:8080/', 'http://own:8080/any', 'http://both:8080/low']) {
    t.ok(mayGo('acme', url), url)
    t.notOk(mayGo('other', url), url)
    t.notOk(mayGo('acme2', url), url)
  }
  for (const url of [
    'http://inside:8080/',
    'http://inside:8080/admin',
    'http://inside:8080/low/',
    'http://inside:8080/lower',
    'http://inside:8080/hooks',
    'http://inside:8080/hooks/../admin',
    'http://inside:8080/hooks/%2e%2e/admin',
    'http://inside:8080/hooks/..%2fadmin',
    'http://inside:8080/hooks/..%5cadmin',
    'http://inside:8080/hooks/..;/admin',
    'http://inside:8080/hooks//admin',
    'http://inside:8081/low',
    'https://inside:8080/low',
    'http://inside:8080@evil.example/low',
    'http://user:pass@inside:8080/low',
    'http://both:8080/other',
    'no URL',
  ])
    t.notOk(mayGo('acme', url), url)
})
