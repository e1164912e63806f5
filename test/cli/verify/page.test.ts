import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { checkout } from '../../helpers/checkout.ts'
import { pageText } from '../../helpers/printed-calls.ts'
import { tollgate } from '../support/commands.ts'
import { verifiesBySecond } from './support/second-verifier.ts'

/** The example of `docs/verify.md`, checked by the one file that strangers get, and by the command of the program. */

const run = promisify(execFile)
const { PATH = '' } = process.env
const fixtures = new URL('test/fixtures/closed-month/', checkout)
const page = pageText('docs/verify.md').split('\n## An example\n')[1] ?? ''
const blocks = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
const blocksOf = (kind: string): readonly string[] =>
  blocks.filter(([, one]) => one === kind).map(([, , text = '']) => text)

// Outside of the checkout, where nothing else is found.
const folder = await mkdtemp(join(tmpdir(), 'tollgate-verify-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const bundler = JSON.stringify(new URL('infra/bundle.js', checkout))
const script = `import { bundleVerifier } from ${bundler}; await bundleVerifier(process.argv[1])`
const node = ['-i', `PATH=${PATH}`, process.execPath, '--input-type=module', '-e', script]
await run('env', [...node, folder])
const names = ['statement.json', 'postings.ndjson', 'line.tlog-proof'] as const
for (const name of names) await cp(new URL(name, fixtures), join(folder, name))
const vkey = (await readFile(new URL('vkey', fixtures), 'utf8')).trim()

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs commands of a shell that has nothing but Node. */
async function shell(script: string): Promise<Ended> {
  const args = ['-i', `PATH=${PATH}`, 'sh', '-c', script]
  return run('env', args, { cwd: folder })
    .then((ended) => ({ code: 0, ...ended }))
    .catch((error: unknown) => error as Ended)
}

t.test('the page shows the files of the fixture', async (t) => {
  const [statement, postings, proof] = await Promise.all(
    names.map((name) => readFile(new URL(name, fixtures))),
  )
  t.same(blocksOf('json'), [String(postings), String(statement)])
  t.equal(blocksOf('text')[0], String(proof))
  t.ok(verifiesBySecond({ statement, postings, proof }, vkey), 'they verify by the page alone')
})

t.test('the commands of the page answer as printed, by one file and Node alone', async (t) => {
  const [whole = '', changed = '', twice = ''] = blocksOf('sh')
  const verified = await shell(whole)
  t.equal(verified.code, 0, verified.stderr)
  t.equal(verified.stdout, blocksOf('text')[1])
  const refused = await shell(changed)
  t.equal(refused.code, 3)
  t.equal(refused.stderr, blocksOf('text')[2])
  t.equal(refused.stdout, '')
  t.same(await shell(twice), { code: 0, stdout: '', stderr: '' })
  const doubled = await shell(
    `cp postings.ndjson one && cat one one > postings.ndjson && ${twice}mv one postings.ndjson`,
  )
  t.equal(doubled.stdout, 'call_0:2\ncall_1:1\nlate_0:1\n')
})

t.test('the file has help, and an exit code for each kind of failure', async (t) => {
  const help = await shell('node verify.mjs --help')
  t.equal(help.code, 0)
  t.match(help.stdout, /^usage: node verify\.mjs <file\.\.\.> --key <vkey>$/m)
  t.match(help.stdout, /The exit code is 0 if every file verifies, 3 if one does not/)
  for (const [args, code, message] of [
    ['', 2, /^verify: name a file: a statement, for example\nusage: .*, or --help\n$/],
    ['statement.json', 2, /^verify: name the key of the gateway with --key/],
    ['statement.json --key', 2, /^verify: Option '--key <value>' argument missing\n/],
    ['statement.json --kee x', 2, /^verify: Unknown option '--kee'/],
    [
      `missing.json --key ${vkey}`,
      1,
      /^verify: missing\.json cannot be read: there is no such file\n$/,
    ],
    [`postings.ndjson --key ${vkey}`, 2, /^verify: name the statement of the postings too/],
  ] as const) {
    const ended = await shell(`node verify.mjs ${args}`)
    t.equal(ended.code, code, args)
    t.match(ended.stderr, message)
    t.notMatch(ended.stderr, /\n +at /, 'no stack')
  }
  t.equal(
    (await shell(`node verify.mjs statement.json --key ${vkey} | true; echo $?`)).stdout,
    '0\n',
  )
})

t.test('tollgate verify is the same and needs no configuration', async (t) => {
  const files = names.map((name) => join(folder, name))
  const verified = await tollgate(['verify', ...files, '--key', vkey], {})
  t.equal(verified.code, 0, verified.stderr)
  t.equal(verified.stdout, blocksOf('text')[1])
  const changed = await tollgate(['verify', join(folder, 'changed.json'), '--key', vkey], {})
  t.equal(changed.code, 3)
  t.match(changed.stderr, /^tollgate: \S+changed\.json does not verify: rows\[2\]\.shown is/)
  t.equal((await tollgate(['verify', ...files], {})).code, 2)
  t.equal((await tollgate(['verify', ...files, '--key', 'acme'], {})).code, 2)
  t.equal((await tollgate(['verify', '/nowhere.json', '--key', vkey], {})).code, 1)
  const several = ['--key', 'other.example/statements+915e1d44+AAAA', '--key', vkey]
  t.match((await tollgate(['verify', ...files, ...several], {})).stderr, /--key other\.example/)
})
