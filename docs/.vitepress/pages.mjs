// The pages of the site, and what can be said of each from its Markdown.

import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const docs = dirname(dirname(fileURLToPath(import.meta.url)))

// The groups of the sidebar: a name, and the pages in their order. A page of a folder that no group names is last in the
// group of that name. An item [title, pages] is folded.
const groups = [
  ['tutorial', 'Tutorial', ['tutorial/one-znode', 'tutorial/queue', 'tutorial/lost-replies', 'tutorial/sessions', 'tutorial/beyond']],
  ['howto', 'Test your code', [
    'howto/own-recipe', 'howto/scan', 'howto/conn', 'howto/own-kind', 'howto/other-languages', 'howto/zookeeper-for-tests', 'howto/what-tests-expect', 'howto/choose-a-strategy', 'exact', 'howto/agents',
  ]],
  ['failures', 'Understand a failure', ['faq', 'howto/read-a-failure', 'howto/check-a-history', 'howto/known-bugs', 'found']],
  ['cookbook', 'Cookbook', [
    ['Waiting', ['cookbook/lost-wake-up', 'cookbook/lost-watch', 'cookbook/deaf', 'cookbook/event-as-grant', 'cookbook/herd']],
    ['Lost replies and errors', [
      'cookbook/orphan', 'cookbook/done-twice', 'cookbook/unknown-outcome', 'cookbook/swallowed-error', 'cookbook/leftovers',
    ]],
    ['Sessions', ['cookbook/zombie', 'cookbook/old-session', 'cookbook/expiry-and-loss', 'cookbook/silent-end']],
    ['Reads and order', [
      'cookbook/stale-read', 'cookbook/check-then-act', 'cookbook/name-used-again', 'cookbook/order-by-string', 'cookbook/wrap',
    ]],
    ['Users of a recipe', ['cookbook/one-process', 'cookbook/mixed-rounds', 'cookbook/lost-with-its-worker']],
  ]],
  ['servers', 'Servers and CI', ['ci', 'serve', 'proxy', 'workers', 'ensemble', 'live', 'campaign']],
  ['reference', 'Reference', ['glossary', 'recipes', 'reference/torture']],
  ['explanation', 'Explanation', [
    'explanation/overview', 'explanation/what-a-pass-proves', 'explanation/fidelity', 'explanation/comparison', 'explanation/compatibility', 'ARCHITECTURE',
  ]],
]

const named = (listed) => listed.flatMap((entry) => (Array.isArray(entry) ? entry[1] : entry))
const placed = new Set(groups.flatMap(([, , listed]) => named(listed)))

// plain removes the marks of Markdown, and escapes of HTML, from one line.
const plain = (line) => line
  .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*\\]|<[^>]*>/g, '').trim()

const fences = /^(```+|~~~+)[^]*?^\1.*$/gm

export const withoutComments = (markdown) => markdown.replace(/<!--[^]*?-->\n?/g, '')

// read returns a page: its path below docs/ without .md, source, title, first sentence, and order in its folder.
function read(path) {
  const text = readFileSync(join(docs, path + '.md'), 'utf8')
  const [, front = '', source] = text.match(/^(?:---\n([^]*?)\n---\n)?([^]*)$/)
  const prose = withoutComments(source).replace(fences, '')
  const title = prose.match(/^# (.+)$/m)?.[1]
  if (!title) throw new Error(`docs/${path}.md has no heading of the first level: begin it with "# Title"`)
  const paragraph = prose.slice(prose.indexOf(title) + title.length).trim().split(/\n\s*\n/)[0].replace(/\s+/g, ' ')
  const sentence = /^[#|<-]/.test(paragraph) ? '' : plain(paragraph).match(/^.*?[.?!](?= |$)|^.*/)[0].replace(/:$/, '.')
  const order = Number(front.match(/^order: *(\S+) *$/m)?.[1] ?? (/(^|\/)index$/.test(path) ? 0 : Infinity))
  return { path, source, title: plain(title), sentence, order }
}

function below(folder) {
  return readdirSync(join(docs, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return ['node_modules', '.vitepress', 'public'].includes(path) ? [] : below(path)
    return path.endsWith('.md') ? [path.slice(0, -'.md'.length)] : []
  })
}

// place is that of a page in its group: by its front matter, then by the list above.
const place = (page, listed) => (listed.indexOf(page.path) + 1 || listed.length + 1)

// group returns the items of a group.
function group(pages, [folder, , listed]) {
  const order = named(listed)
  const inOrder = (a, b) => (a.order === b.order ? place(a, order) - place(b, order) : a.order - b.order) ||
    a.path.localeCompare(b.path, 'en', { numeric: true })
  const own = pages.filter(({ path }) => order.includes(path) || path.startsWith(folder + '/') && !placed.has(path)).sort(inOrder)
  const items = (pages) => pages.filter((page) => !parent(page, own)).map((page) => item(page, own))
  const folds = listed.filter(Array.isArray)
  const folded = named(folds)
  return [
    ...items(own.filter(({ path }) => !folded.includes(path))),
    ...folds.map(([text, paths]) => ({ text, items: items(own.filter(({ path }) => paths.includes(path))) })).filter(({ items }) => items.length > 0),
  ]
}

// parent is the page under which another one is: torture-run is under torture, and a folder under its index.
function parent({ path }, pages) {
  const inner = (other) => /\/.*\/index$/.test(other) && path !== other && path.startsWith(other.slice(0, -'index'.length))
  const over = pages.filter((page) => path.startsWith(page.path + '-') || inner(page.path))
  return over.sort((a, b) => b.path.length - a.path.length)[0]
}

function item(page, pages) {
  const own = { text: page.title, link: page.path }
  const below = pages.filter((other) => parent(other, pages) === page)
  return below.length === 0 ? own : { text: page.title, items: [own, ...below.map((other) => item(other, pages))] }
}

// site returns all pages, the groups of the sidebar, and the home page.
export function site() {
  const pages = below('').map(read)
  const home = pages.find((page) => page.path === 'index')
  const sidebar = groups.map((entry) => ({ text: entry[1], items: group(pages, entry) })).filter(({ items }) => items.length > 0)
  const shown = new Set(['index', ...sidebar.flatMap((group) => flat(group.items)).map((item) => item.link)])
  for (const { path } of pages) {
    if (!shown.has(path)) throw new Error(`docs/${path}.md is in no group: name it in docs/.vitepress/pages.mjs`)
  }
  return { pages, home, sidebar }
}

// flat lists the pages among items and in them.
export const flat = (items) => items.flatMap((item) => (item.items ? flat(item.items) : [item]))
