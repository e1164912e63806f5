import { addUser, issueToken } from '../../../src/app/accounts/account-commands.ts'
import type { Stack } from '../../helpers/stack.ts'
import { call } from './client.ts'

/** The console as a browser without script asks for it. */

export interface ConsoleAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The cookie that the answer sets; undefined for none. */
  readonly cookie: string | undefined
}

export interface ConsoleRequest {
  readonly cookie?: string | undefined
  /** Fields of a form, which is then sent. */
  readonly form?: Readonly<Record<string, string>> | URLSearchParams | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** Asks for a page, or sends a form of one, and follows no redirect. */
export async function askConsole(
  url: string,
  path: string,
  { cookie, form, headers = {} }: ConsoleRequest = {},
): Promise<ConsoleAnswer> {
  const answer = await fetch(`${url}${path}`, {
    method: form === undefined ? 'GET' : 'POST',
    redirect: 'manual',
    headers: {
      ...(cookie === undefined ? {} : { cookie }),
      ...(form === undefined ? {} : { 'sec-fetch-site': 'same-origin' }),
      ...headers,
    },
    ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
  })
  const [set] = answer.headers.getSetCookie()
  return {
    status: answer.status,
    headers: answer.headers,
    text: await answer.text(),
    cookie: set?.split(';', 1)[0],
  }
}

/** Signs in with a token; returns the cookie of the session. */
export async function signInToConsole(url: string, token: string): Promise<string> {
  const { status, cookie, text } = await askConsole(url, '/console/sign-in', {
    form: { token, next: '' },
  })
  if (status !== 303 || cookie === undefined) throw new Error(`${status} ${text}`)
  return cookie
}

/** Gives a reason to view a tenant, for the rest of a session whose token is of another one. */
export async function giveViewReason(url: string, cookie: string, tenantId: string): Promise<void> {
  const form = { tenant_id: tenantId, reason: 'a test', next: '' }
  const { status, text } = await askConsole(url, '/console/view-reason', { cookie, form })
  if (status !== 303) throw new Error(`${status} ${text}`)
}

/** Adds a controller of all tenants; returns the secret of an admin token with the role finance. */
export async function addController(
  { access, other: { tenantId } }: Pick<Stack, 'access' | 'other'>,
  userId: string,
): Promise<string> {
  // The controller belongs to another tenant than those whose money it is.
  await addUser(access, { tenantId, userId, name: userId })
  const { secret } = await issueToken(access, {
    tenantId,
    userId,
    kind: 'admin',
    name: `desk of ${userId}`,
    scope: { level: 'all_tenants' },
    role: 'finance',
  })
  return secret
}

/** Asks the administration with the token of an administrator, or with another; the `data` of an answer. @throws where it refuses */
export const administration =
  ({ url, demo: { adminToken } }: Pick<Stack, 'url' | 'demo'>) =>
  async (method: string, path: string, body?: object, token = adminToken) => {
    const answer = await call(`${url}/api/admin${path}`, {
      method,
      token,
      ...(body && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    })
    if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`)
    return answer.body.data
  }
