import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { middayZone } from '../../helpers/midday-zone.ts'
import { pageText, printedCalls } from '../../helpers/printed-calls.ts'
import { tollgate } from './commands.ts'
import { programInShell, shell } from './tollgate.ts'

/** Begins the output of a section, as no command does. */
const MARK = '@@ '

/** Commands that ask for today or this month get a zone where neither ends while the page runs. */
const atMidday = (calls: string): string =>
  calls.replaceAll(
    /(--today|--time-preset (?:today|this_month))(?: --tz \S+)?/g,
    `$1 --tz ${middayZone()}`,
  )

const titleOf = (section: string): string => section.slice(0, section.indexOf('\n'))

/** Runs the command whose arguments and environment are in this folder; leaves there what it printed. */
async function runIn(folder: string): Promise<number | null> {
  const read = (name: string) => readFile(join(folder, name), 'utf8')
  const [cwd = '', ...args] = (await read('args')).split('\0').slice(0, -1)
  const variables = (await read('env')).split('\n').map((line) => /^(\w+)=(.*)$/.exec(line))
  const env = variables.flatMap((found) => (found === null ? [] : [[found[1], found[2]]]))
  const { code, stdout, stderr } = await tollgate(args, Object.fromEntries(env), cwd)
  await Promise.all([
    writeFile(join(folder, 'stdout'), stdout),
    writeFile(join(folder, 'stderr'), stderr),
  ])
  return code
}

/**
 * What a shell runs as `tollgate`: first the program, as a user does, and then a process that stays for the next
 * command.
 */
async function startCommands(): Promise<{ readonly program: string; stop: () => Promise<void> }> {
  const jobs = await mkdtemp(join(tmpdir(), 'tollgate-page-'))
  const socket = join(jobs, 'socket')
  const server = createServer((request, response) => {
    void text(request)
      .then(runIn)
      .then((code) => response.end(String(code)))
      .catch((error: unknown) => response.destroy(error as Error))
  }).listen(socket)
  await once(server, 'listening')
  const program = `
    if mkdir '${jobs}/first' 2> /dev/null; then ${await programInShell()}; return; fi
    local job code
    job=$(TMPDIR='${jobs}' mktemp -d)
    printf '%s\\0' "$PWD" "$@" > "$job/args"
    env > "$job/env"
    code=$(command curl --silent --unix-socket '${socket}' --data-binary "$job" http://commands/)
    cat "$job/stdout"
    cat "$job/stderr" >&2
    return "$code"`
  return {
    program,
    stop: async () => {
      server.close()
      await rm(jobs, { recursive: true, force: true })
    },
  }
}

/**
 * Runs every command of a page in one shell, and gives what each of its sections printed, by its
 * title. `before` has what the shell runs before a section. @throws where a command fails
 */
export async function runPage(
  t: Test,
  path: string,
  baseUrl: string,
  folder: string,
  before: Readonly<Record<string, string>> = {},
): Promise<(title: string) => string> {
  const [preface = '', ...sections] = pageText(path).split('\n## ')
  const script = [
    printedCalls(preface, baseUrl),
    ...sections.map(
      (section) =>
        `${before[titleOf(section)] ?? ''}\necho '${MARK}${titleOf(section)}'\n${atMidday(printedCalls(section, baseUrl))}`,
    ),
  ].join('\n')
  const commands = await startCommands()
  t.teardown(commands.stop)
  const { code, stdout } = await shell(script, folder, commands.program)
  if (code !== 0) throw new Error(`exit code ${code}: ${stdout}`)
  const said = new Map(
    stdout
      .split(new RegExp(`^${MARK}`, 'm'))
      .slice(1)
      .map((section) => [titleOf(section), section.slice(section.indexOf('\n') + 1)]),
  )
  return (title) => said.get(title) ?? ''
}
