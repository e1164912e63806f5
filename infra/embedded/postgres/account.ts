import { execFile } from 'node:child_process'
import { lchownSync, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { PostgresFailure } from './failure.ts'

/** Maximum duration of a probe of a program, in milliseconds. */
const PROBE_TIMEOUT_MS = 10_000

/** Accounts to run under when started as root, the first that exists. Postgres refuses to run as root. */
export const ACCOUNTS = ['tollgate', 'postgres', '_postgres'] as const

/** The account of programs without an account of their own. It is used only where no other exists. */
const SHARED_ACCOUNT = 'nobody'

/** Permissions to pass through folders that other accounts may not enter, smallest first. */
const PASSING_CAPABILITIES = ['dac_read_search', 'dac_override'] as const

/** The unprivileged account that Postgres runs under when this process is root. */
interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
  /** Whether other programs may run under it too. */
  readonly shared: boolean
}

/** A way to start a Postgres program: a prefix to its command line, and spawn options. */
export interface Runner {
  readonly account: Account | undefined
  readonly prefix: readonly string[]
  readonly ids: { readonly uid?: number; readonly gid?: number }
}

/** Parses the account database; a name of digits cannot occur in it. */
function accounts(): readonly Account[] {
  let text: string
  try {
    text = readFileSync('/etc/passwd', 'utf8')
  } catch {
    return []
  }
  return text.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':')
    const ids = [Number(uid), Number(gid)] as const
    if (name === undefined || name === '' || !ids.every((id) => Number.isSafeInteger(id))) return []
    return [{ name, uid: ids[0], gid: ids[1], shared: name === SHARED_ACCOUNT }]
  })
}

/**
 * Chooses the account: none unless root, the owner of what exists (unless that is a shared account), otherwise the
 * first known one.
 * @throws PostgresFailure when existing data belongs to an account that this process cannot become.
 */
export function chooseAccount(clusterDir: string): Account | undefined {
  const self = process.getuid?.()
  const owner = statSync(clusterDir, { throwIfNoEntry: false })
  if (self !== 0) {
    if (owner === undefined || self === undefined || owner.uid === self) return undefined
    throw new PostgresFailure(
      `${clusterDir} belongs to user ${owner.uid}, this process runs as ${self}; start it as the account that created the data (or as root)`,
    )
  }
  const known = accounts()
  const ownerAccount = known.find(({ uid }) => uid === owner?.uid)
  if (owner !== undefined && owner.uid !== 0 && ownerAccount?.shared !== true) {
    const name = ownerAccount?.name ?? `user ${owner.uid}`
    return { name, uid: owner.uid, gid: owner.gid, shared: false }
  }
  for (const name of [...ACCOUNTS, SHARED_ACCOUNT]) {
    const found = known.find((account) => account.name === name && account.uid !== 0)
    if (found !== undefined) return found
  }
  throw new PostgresFailure(
    `Postgres refuses to run as root, and none of the accounts ${[...ACCOUNTS, SHARED_ACCOUNT].join(', ')} exists; start the gateway as an ordinary account or create one of them`,
  )
}

/**
 * Gives data that belongs to root or to a shared account to the chosen one; files of a third
 * account are left alone. The folder itself is changed last, so that after a start that dies here
 * the next one begins again.
 */
export function giveTo(account: Account, clusterDir: string): void {
  const owner = lstatSync(clusterDir).uid
  if (owner === account.uid) return
  const give = (path: string): void => {
    const found = lstatSync(path)
    if (found.isDirectory()) for (const name of readdirSync(path)) give(join(path, name))
    if (found.uid === owner) lchownSync(path, account.uid, account.gid)
  }
  give(clusterDir)
}

/** The outermost folder on the way to `path` that the account may not enter, if there is one. */
function blockedAt(path: string, account: Account): string | undefined {
  const folders: string[] = []
  for (let folder = realpathSync(path); ; folder = dirname(folder)) {
    folders.unshift(folder)
    if (folder === dirname(folder)) break
  }
  return folders.find((folder) => {
    const { uid, gid, mode } = statSync(folder)
    if (uid === account.uid) return (mode & 0o100) === 0
    if (gid === account.gid) return (mode & 0o010) === 0
    return (mode & 0o001) === 0
  })
}

function setpriv(account: Account, capability: string): readonly [string, ...string[]] {
  const { uid, gid } = account
  return [
    'setpriv',
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    `--inh-caps=+${capability}`,
    `--ambient-caps=+${capability}`,
    '--',
  ]
}

/**
 * Decides how to start Postgres so that it reaches its programs and its data.
 *
 * As root, the usual places (a checkout or a data directory below /root) are closed to every other
 * account. This process does not change their modes. Where the system has `setpriv`, it gives
 * Postgres the one permission to pass through folders, still as an unprivileged account.
 *
 * @throws PostgresFailure naming the closed folder when there is no way in.
 */
export async function chooseRunner(
  account: Account | undefined,
  postgres: string,
  root: string,
): Promise<Runner> {
  if (account === undefined) return { account, prefix: [], ids: {} }
  const blocked = blockedAt(root, account) ?? blockedAt(dirname(postgres), account)
  if (blocked === undefined) {
    return { account, prefix: [], ids: { uid: account.uid, gid: account.gid } }
  }
  for (const capability of PASSING_CAPABILITIES) {
    const [command, ...args] = [...setpriv(account, capability), postgres, '--version']
    const probe = promisify(execFile)(command, args, { timeout: PROBE_TIMEOUT_MS })
    const works = await probe.then(
      () => true,
      () => false,
    )
    if (works) return { account, prefix: setpriv(account, capability), ids: {} }
  }
  throw new PostgresFailure(
    `Postgres runs as ${account.name} because it refuses to run as root, and that account may not enter ${blocked}; put the program and DATA_DIR where every account may pass (for example /var/lib/tollgate), or chmod o+x ${blocked}`,
  )
}
