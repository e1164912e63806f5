import { createSign, generateKeyPairSync } from 'node:crypto'
import t, { type Test } from 'tap'
import {
  createProvider,
  type Provider,
  type ProviderSettings,
} from '../../../src/console/session/provider.ts'
import { startOidcProvider, type TestProvider } from '../../helpers/oidc-provider.ts'

/** What is believed of a provider, which is a real one here, and what it can do to a sign-in when it is hostile. */

const CALLBACK = 'http://127.0.0.1:9/console/oidc/callback'

async function providerIn(
  t: Test,
  settings: Partial<ProviderSettings> = {},
): Promise<{ oidc: TestProvider; provider: ReturnType<typeof createProvider> }> {
  const oidc = await startOidcProvider()
  t.teardown(() => oidc.stop())
  oidc.serve(CALLBACK)
  return { oidc, provider: createProvider({ ...oidc.settings, ...settings }, 1) }
}

/** The kind of the fault with which a sign-in ends; undefined where it does not. */
async function kindOf(ending: Promise<unknown>): Promise<unknown> {
  try {
    await ending
    return undefined
  } catch (error) {
    return Reflect.get(Object(error), 'kind')
  }
}

const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** An ID token signed with a key that is not the provider's. */
function forged(claims: object): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const body = `${base64({ alg: 'RS256', kid: 'keystore-CHANGE-ME' })}.${base64(claims)}`
  return `${body}.${createSign('sha256').update(body).sign(privateKey, 'base64url')}`
}

t.test('a person is who the provider says, once', async (t) => {
  const { oidc, provider } = await providerIn(t)
  oidc.person = { email: 'Mia@Example.com' }
  const { href, begun } = await provider.begin(CALLBACK)
  t.match(new URL(href).searchParams.get('code_challenge_method'), 'S256')
  t.notMatch(href, begun.verifier)
  const back = new URL(await oidc.signIn(href))
  t.same(await provider.finish(back, begun), { subject: 'mia@example.com', roleValues: [] })
  t.equal(await kindOf(provider.finish(back, begun)), 'invalid', 'a code works once')
})

t.test('an answer for another sign-in is refused', async (t) => {
  const { oidc, provider } = await providerIn(t)
  const [one, other] = [await provider.begin(CALLBACK), await provider.begin(CALLBACK)]
  const back = async (href: string) => new URL(await oidc.signIn(href))
  t.equal(await kindOf(provider.finish(await back(one.href), other.begun)), 'invalid', 'state')
  const changed = new URL(one.href)
  changed.searchParams.set('nonce', 'another')
  t.equal(await kindOf(provider.finish(await back(changed.href), one.begun)), 'invalid', 'nonce')
  const verifier = other.begun.verifier
  t.equal(
    await kindOf(provider.finish(await back(one.href), { ...one.begun, verifier })),
    'invalid',
    'PKCE',
  )
  const denied = new URL(`${CALLBACK}?error=access_denied&state=${one.begun.state}`)
  denied.searchParams.set('iss', oidc.settings.issuer)
  t.equal(await kindOf(provider.finish(denied, one.begun)), 'denied')
})

t.test('only a claim that is there counts, and of addresses verified ones', async (t) => {
  const { oidc, provider } = await providerIn(t)
  const subjectOf = async (through = provider) => {
    return (await personOf(through)).subject
  }
  const personOf = async (through: Provider) => {
    const { href, begun } = await through.begin(CALLBACK)
    return through.finish(new URL(await oidc.signIn(href)), begun)
  }
  oidc.person = { email: 'mia@example.com', email_verified: false }
  t.equal(await kindOf(subjectOf()), 'unverified')
  oidc.person = { email: ' ' }
  t.equal(await kindOf(subjectOf()), 'nameless')
  oidc.person = { email: 'ben@example.com', email_verified: false }
  const bySubject = createProvider({ ...oidc.settings, claim: 'sub' }, 1)
  t.equal(await subjectOf(bySubject), 'account of ben@example.com')
  const byRole = createProvider({ ...oidc.settings, claim: 'sub', roleClaim: 'sub' }, 1)
  const { roleValues } = await personOf(byRole)
  t.same(roleValues, ['account of ben@example.com'], 'of the ID token')
  const byOther = createProvider({ ...oidc.settings, claim: 'department' }, 1)
  t.equal(await kindOf(subjectOf(byOther)), 'nameless')
})

t.test('a forged ID token is refused by its signature', async (t) => {
  const { oidc, provider } = await providerIn(t)
  const { href, begun } = await provider.begin(CALLBACK)
  const back = new URL(await oidc.signIn(href))
  const nowS = Math.floor(Date.now() / 1_000)
  const claims = {
    iss: oidc.settings.issuer,
    aud: 'tollgate',
    sub: 'mia',
    nonce: begun.nonce,
    iat: nowS,
    exp: nowS + 60,
    email: 'mia@example.com',
    email_verified: true,
  }
  for (const id_token of [forged(claims), `${base64({ alg: 'none' })}.${base64(claims)}.`]) {
    oidc.override = (request, response) => {
      if (request.url !== '/token') return false
      const body = { access_token: 'a', token_type: 'Bearer', id_token }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(body))
      return true
    }
    t.equal(await kindOf(provider.finish(back, begun)), 'invalid')
  }
})

t.test('a hostile provider costs a bounded answer, and a bounded wait', async (t) => {
  const { oidc, provider } = await providerIn(t)
  const asked: string[] = []
  const answering = (body: string | undefined) => {
    oidc.override = ({ url = '' }, response) => {
      asked.push(url)
      if (body === undefined) return true
      response.setHeader('content-type', 'application/json')
      response.end(body)
      return true
    }
  }
  answering(undefined)
  const tries = Array.from({ length: 30 }, () => provider.begin(CALLBACK).catch((e: unknown) => e))
  const faults = await Promise.all(tries)
  t.equal(asked.length, 1, 'people who wait share one question')
  t.equal(faults.filter((fault) => Object(fault).kind === 'busy').length, 10)
  t.equal(faults.filter((fault) => Object(fault).kind === 'away').length, 20, 'no answer in time')
  const { issuer } = oidc.settings
  for (const body of [
    '',
    'null',
    '[]',
    '{}',
    JSON.stringify({ issuer: 'https://login.example.org' }),
    JSON.stringify({ issuer, authorization_endpoint: 'javascript:alert(1)' }),
    JSON.stringify({ issuer, padding: 'x'.repeat(1_000_000) }),
  ]) {
    answering(body)
    t.equal(await kindOf(provider.begin(CALLBACK)), 'away', body.slice(0, 80))
  }
  oidc.override = undefined
  t.equal(await kindOf(provider.begin(CALLBACK)), undefined, 'it is asked again, and works')
  await oidc.stop()
  const lost = createProvider(oidc.settings, 1)
  t.equal(await kindOf(lost.begin(CALLBACK)), 'away')
})
