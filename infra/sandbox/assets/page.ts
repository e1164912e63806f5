import type { Answer } from '../http/exchange.ts'
import type { DeadLink } from './sessions.ts'

/** The page on which a person is verified, in three languages; it uses no real camera. */

type Language = 'zh' | 'en' | 'zh-Hant'

interface Words {
  readonly title: string
  readonly explanation: string
  readonly pass: string
  readonly fail: string
  readonly dead: Readonly<Record<DeadLink, string>>
  readonly broken: string
}

const WORDS: Readonly<Record<Language, Words>> = {
  en: {
    title: 'Verify that you are a real person',
    explanation: 'This is a sandbox: no camera is used. Choose how the check ends.',
    pass: 'Pass the check',
    fail: 'Fail the check',
    dead: {
      unknown: 'There is no such check.',
      used: 'This link was used already.',
      expired: 'This link has expired.',
    },
    broken: 'The check could not be made.',
  },
  zh: {
    title: '真人验证',
    explanation: '这是沙盒环境，不会使用摄像头。请选择验证结果。',
    pass: '通过验证',
    fail: '验证失败',
    dead: { unknown: '验证不存在。', used: '此链接已被使用。', expired: '此链接已过期。' },
    broken: '无法进行验证。',
  },
  'zh-Hant': {
    title: '真人驗證',
    explanation: '這是沙盒環境，不會使用攝影機。請選擇驗證結果。',
    pass: '通過驗證',
    fail: '驗證失敗',
    dead: { unknown: '驗證不存在。', used: '此連結已被使用。', expired: '此連結已過期。' },
    broken: '無法進行驗證。',
  },
}

const DEAD_STATUSES: Readonly<Record<DeadLink, number>> = { unknown: 404, used: 410, expired: 410 }

/** The ticket in the address must not leak, and no cache may keep a copy of the page. */
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
}

const STYLE = `
    body { font-family: system-ui, sans-serif; max-width: 32rem; margin: 4rem auto; padding: 0 1rem }
    button { font: inherit; display: block; width: 100%; margin: 1rem 0; padding: 0.75rem }`

function isLanguage(text: string): text is Language {
  return Object.hasOwn(WORDS, text)
}

/** The language an address asks for; English for any other. */
export function languageOf(query: URLSearchParams): Language {
  const asked = query.get('lng') ?? ''
  return isLanguage(asked) ? asked : 'en'
}

function page(status: number, language: Language, content: string): Answer {
  const { title } = WORDS[language]
  const body = `<!doctype html>
<html lang="${language === 'zh' ? 'zh-Hans' : language}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title}</title>
    <style>${STYLE}
    </style>
  </head>
  <body>
    <main>
      <h1>${title}</h1>
${content}
    </main>
  </body>
</html>
`
  return { status, body, headers: HEADERS }
}

/** The check itself: a form that is sent to the address it came from. */
export function checkPage(language: Language): Answer {
  const { explanation, pass, fail } = WORDS[language]
  return page(
    200,
    language,
    `      <p>${explanation}</p>
      <form method="post">
        <button id="pass" type="submit" name="outcome" value="pass">${pass}</button>
        <button id="fail" type="submit" name="outcome" value="fail">${fail}</button>
      </form>`,
  )
}

/** Why a link opens no check. */
export function deadLinkPage(language: Language, why: DeadLink): Answer {
  const text = WORDS[language].dead[why]
  return page(DEAD_STATUSES[why], language, `      <p id="refused" role="alert">${text}</p>`)
}

/** What a fault looks like in a browser. */
export function brokenPage(language: Language, status: number): Answer {
  const { broken } = WORDS[language]
  return page(status, language, `      <p id="refused" role="alert">${broken}</p>`)
}

/** Sends the browser on, to be asked for by GET. */
export function redirect(target: URL): Answer {
  const { 'content-type': _type, ...headers } = HEADERS
  return { status: 303, body: '', headers: { ...headers, location: target.href } }
}
