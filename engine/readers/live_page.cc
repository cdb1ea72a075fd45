#include "engine/readers/live_page.h"

namespace fg {
namespace {

constexpr std::string_view kPage = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>fg-engine live</title>
<link rel="stylesheet" href="/live.css">
<script src="/live.js" defer></script>
</head>
<body>
<h1>Nodes as they run</h1>
<p id="state" role="status">connecting</p>
<table>
<thead><tr><th>node</th><th>op</th><th>weight</th><th>label</th><th>shape</th><th>ms</th>
<th>min</th><th>max</th><th>mean</th><th>NaN</th></tr></thead>
<tbody id="nodes"></tbody>
</table>
</body>
</html>
)";

constexpr std::string_view kStyle = R"(:root { color-scheme: light dark; font-family: sans-serif; }
h1 { font-size: 1.1rem; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.15rem 0.6rem; text-align: left; border-bottom: 1px solid #8884; }
td.number { text-align: right; }
tr.fallback td:nth-child(4), td.bad { color: #c22; font-weight: bold; }
)";

// Rows are reused: the table is as long as the longest graph, however long the engine runs.
constexpr std::string_view kScript = R"('use strict';
const state = document.getElementById('state');
const body = document.getElementById('nodes');
let forward = null, shown = 0;
const short = (x) => x === null || x === undefined ? '' : Number(x).toPrecision(4);
function put(row, cell, text, kind) {
  row.cells[cell].textContent = text;
  row.cells[cell].className = kind;
}
function showNode(node) {
  while (body.rows.length <= shown) {
    const fresh = body.insertRow();
    for (let i = 0; i < 10; ++i) fresh.insertCell();
  }
  const row = body.rows[shown++];
  const of = node.statistics || {};
  row.className = node.label.includes('!') ? 'fallback' : '';
  row.hidden = false;
  put(row, 0, node.index, 'number');
  put(row, 1, node.op, '');
  put(row, 2, node.weight, '');
  put(row, 3, node.label, '');
  put(row, 4, node.rows + ' x ' + node.columns, 'number');
  put(row, 5, (node.seconds * 1000).toFixed(3), 'number');
  put(row, 6, short(of.min), 'number');
  put(row, 7, short(of.max), 'number');
  put(row, 8, short(of.mean), 'number');
  put(row, 9, of.nan === undefined ? '' : of.nan, of.nan > 0 ? 'number bad' : 'number');
}
function show(event) {
  if (event.kind === 'node') {
    showNode(event);
  } else if (event.kind === 'forward') {
    forward = event;
    shown = 0;
    state.textContent = 'forward ' + event.forward + ', ' + event.phase + ', ' + event.rows + ' rows';
  } else if (event.kind === 'end' && forward) {
    for (let i = shown; i < body.rows.length; ++i) body.rows[i].hidden = true;
    state.textContent = 'forward ' + event.forward + ', ' + forward.phase + ', ' + forward.rows +
        ' rows, ' + (event.seconds * 1000).toFixed(2) + ' ms';
  }
}
const source = new EventSource('/events');
source.onmessage = (message) => show(JSON.parse(message.data));
source.onerror = () => { state.textContent = 'the engine has gone, or this page was too slow'; };
)";

const char* ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "HTTP Version Not Supported";  // 505
  }
}

std::string Head(int status, std::string_view type) {
  std::string head = "HTTP/1.1 " + std::to_string(status) + " " + ReasonOf(status) + "\r\n";
  head.append("Content-Type: ").append(type).append("; charset=utf-8\r\n");
  if (status == 405) head += "Allow: GET\r\n";
  return head +
         "Cache-Control: no-store\r\n"
         "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
         "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'\r\n"
         "Cross-Origin-Resource-Policy: same-origin\r\n"
         "X-Content-Type-Options: nosniff\r\n"
         "Connection: close\r\n";
}

std::string Refusal(int status) {
  return HttpAnswer(status, "text/plain", std::string(ReasonOf(status)) + "\n");
}

}  // namespace

std::string HttpAnswer(int status, std::string_view type, std::string_view body) {
  return Head(status, type) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

std::string LiveAnswer(const HttpReading& reading, int port, bool* streaming) {
  *streaming = false;
  if (reading.status != 200) return Refusal(reading.status);
  const HttpRequest& request = reading.request;
  if (!HostIsLoopback(request.host, port)) return Refusal(403);
  if (request.method != "GET") return Refusal(405);
  if (request.path == "/") return HttpAnswer(200, "text/html", kPage);
  if (request.path == "/live.js") return HttpAnswer(200, "text/javascript", kScript);
  if (request.path == "/live.css") return HttpAnswer(200, "text/css", kStyle);
  if (request.path != "/events") return Refusal(404);
  *streaming = true;
  return Head(200, "text/event-stream") + "\r\n";
}

}  // namespace fg
