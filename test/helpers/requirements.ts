import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/**
 * What some tests need of the operating system. Where it is missing they are skipped, and the run says at its end which
 * command brings it: `t.test(title, { skip: nginx.missing }, …)`. With `TESTS_REQUIRE_ALL=1` a skipped test fails the
 * run (`test/run/main.ts`).
 */

export interface SystemProgram {
  /** Where it is. @throws where it is missing */
  readonly path: () => string
  /** Why a test that needs it is skipped; false where it is there. */
  readonly missing: string | false
}

function find(names: readonly string[]): string | undefined {
  // Programs for administrators are not on the path of every account.
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']
  return names
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((path) => existsSync(path))
}

/** The first of these names that is installed; `packages` are those of Debian that bring it. */
function systemProgram(
  name: string,
  names: readonly string[],
  packages: string,
  found: string | undefined = find(names),
): SystemProgram {
  const why = `${name} is not installed (apt-get install ${packages})`
  return {
    path: () => {
      if (found === undefined) throw new Error(why)
      return found
    },
    missing: found === undefined ? why : false,
  }
}

export const nginx = systemProgram('nginx', ['nginx'], 'nginx-light')

export const prometheus = systemProgram('prometheus', ['prometheus'], 'prometheus')

/** Tests rules of Prometheus. */
export const promtool = systemProgram('promtool', ['promtool'], 'prometheus')

export const systemdAnalyze = systemProgram('systemd-analyze', ['systemd-analyze'], 'systemd')

/** Reads the text of pages. */
export const pdftotext = systemProgram('pdftotext', ['pdftotext'], 'poppler-utils')

export const compiler = systemProgram('a compiler of C', ['cc', 'gcc'], 'gcc libc6-dev')

/** What `CHROMIUM_PATH` names, or else what is installed. @throws where that path is of nothing */
function findChromium(): string | undefined {
  const named = process.env['CHROMIUM_PATH'] ?? ''
  if (named === '') return find(['chromium', 'chromium-browser', 'google-chrome'])
  if (!existsSync(named)) throw new Error(`CHROMIUM_PATH: there is no ${named}`)
  return named
}

export const chromium = systemProgram('chromium', [], 'chromium', findChromium())

export const isRoot = process.getuid?.() === 0

/** For tests that change owners and accounts. */
export const notRoot = isRoot ? false : 'this account is not root (run the tests as root)'

/** For what the C library or the kernel of Linux does. */
export const notLinux = process.platform === 'linux' ? false : 'this system is not Linux'
