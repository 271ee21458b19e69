# Completion of @PROGRAM@ for fish: put  @PROGRAM@ completion fish | source  into ~/.config/fish/config.fish.
function __@FUNCTION@_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    set -l before (string match -r '^--[^=]*=' -- "$last")
    set -l value (string replace -- "$before" '' "$last")
    for line in ($words[1] complete $words[2..-1] "$last" 2>/dev/null)
        switch $line
            case ':files'
                for file in (__fish_complete_path "$value"); echo "$before$file"; end
            case ':folders'
                for folder in (__fish_complete_directories "$value"); echo "$before$folder"; end
            case '*'
                echo $line
        end
    end
end
complete -c @PROGRAM@ -f -k -a '(__@FUNCTION@_complete)'
